//! Functions that the driver provides.

/// Whether an undefined function is a system call: the driver links it when
/// it loads the image.
pub fn is_provided_by_driver(name: &str) -> bool {
    matches!(name, "vprintf" | "malloc" | "free" | "__assertfail")
        || name.starts_with("__cuda_syscall_")
        || name.starts_with(".nv.reservedSmem.")
}
