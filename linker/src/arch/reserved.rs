//! Names that no input needs to define.

/// Whether an undefined function is a system call: the driver links it when
/// it loads the image.
pub fn is_provided_by_driver(name: &str) -> bool {
    matches!(name, "vprintf" | "malloc" | "free" | "__assertfail")
        || name.starts_with("__cuda_syscall_")
        || is_shared(name)
}

/// The names of the unified function and data tables, which the linker lays
/// out in links that have them.
pub fn is_unified_table(name: &str) -> bool {
    name.starts_with("__UFT") || name.starts_with("__UDT")
}

/// The names of what the system reserves in shared memory.
pub fn is_shared(name: &str) -> bool {
    name.starts_with(".nv.reservedSmem.")
}
