//! Names that no input needs to define.

/// Functions of the driver besides those that begin with
/// [`SYSTEM_CALL_PREFIX`]. The case `system_calls` refers to every one.
const DRIVER_FUNCTIONS: [&str; 32] = [
    "__assertfail",
    "__profile",
    "cnpCtxSynchronize",
    "cnpDeviceGetAttribute",
    "cnpDeviceGetName",
    "cnpEventCreate",
    "cnpEventDestroy",
    "cnpEventRecord",
    "cnpFuncGetAttribute",
    "cnpGetCacheConfig",
    "cnpGetDevice",
    "cnpGetDeviceCount",
    "cnpGetLastError",
    "cnpGetLimit",
    "cnpGetParameterBuffer",
    "cnpGetParameterBufferV2",
    "cnpGetSharedMemConfig",
    "cnpLaunchDevice",
    "cnpLaunchDeviceV2",
    "cnpSetLastError",
    "cnpStreamCreate",
    "cnpStreamDestroy",
    "cnpStreamWaitEvent",
    "cudaGraphKernelNodeSetEnabled",
    "cudaGraphKernelNodeSetGridDim",
    "cudaGraphKernelNodeSetParam",
    "cudaGraphKernelNodeUpdatesApply",
    "cudaGraphLaunch",
    "cudaGraphSetConditional",
    "free",
    "malloc",
    "vfprintf",
];
/// The one that device code calls most, by way of `printf`.
const PRINT: &str = "vprintf";
/// How the names of newer system calls begin.
const SYSTEM_CALL_PREFIX: &str = "__cuda_syscall";

/// Whether a function is a system call: the driver links it when it loads the image.
pub(crate) fn is_system_call(name: &str) -> bool {
    name == PRINT
        || name.starts_with(SYSTEM_CALL_PREFIX)
        || DRIVER_FUNCTIONS.binary_search(&name).is_ok()
}

/// Whether the driver defines what no input does. Variables may have the names of system calls, and mean nothing by it
/// (case `reserved_names`).
pub(crate) fn is_provided_by_driver(name: &str, is_function: bool) -> bool {
    is_shared(name) || is_function && is_system_call(name)
}

/// A name that stands for the size of the program's constants, though it names
/// the bank of parameters (case `cdp2_constants`).
pub(crate) const CONSTANTS_SIZE: &str = ".nv.ptx.const0.size";

/// How far a program's unified functions are from where their table says.
pub(crate) const UNIFIED_OFFSET: &str = "__UFT_OFFSET";

/// Whether a name is one of the unified function or data table, which the linker lays out in links that have them. Others
/// that begin alike are not (case `reserved_names`).
pub(crate) fn is_unified_table(name: &str) -> bool {
    let table = name
        .strip_prefix("__UFT")
        .or_else(|| name.strip_prefix("__UDT"));
    table.is_some_and(|part| matches!(part, "" | "_OFFSET" | "_CANONICAL" | "_END"))
}

/// The sizes of what describes textures, samplers and surfaces, which the driver knows.
/// Questions about these ask for them.
const DESCRIPTOR_SIZES: [&str; 5] = [
    ".nv.independent.samplerrefDescSize",
    ".nv.independent.texrefDescSize",
    ".nv.surfrefDescSize",
    ".nv.texrefDescSize",
    ".nv.unified.texrefDescSize",
];

/// Whether a name stands for such a size.
pub(crate) fn is_descriptor_size(name: &str) -> bool {
    DESCRIPTOR_SIZES.contains(&name)
}

/// Where the variables that the system reserves in shared memory start.
pub(crate) const SHARED_START: u64 = 0x40;

/// What the system reserves at the start of shared memory on sm_90 and later.
pub(crate) const SHARED_SIZE: u64 = 0x400;

/// The value of a name that the system reserves in shared memory, up to sm_90.
/// Objects of CUDA 12.0 do not say it (case `reserved_cap`).
pub(crate) fn shared_value(name: &str) -> u64 {
    match name {
        ".nv.reservedSmem.cap" => SHARED_SIZE,
        _ => 0,
    }
}

/// What the system keeps in shared memory for tensor memory.
pub(crate) const TENSOR_MEMORY: &str = "__nv_reservedSMEM_tcgen05_partition";

/// The same in objects of CUDA 12.
pub(crate) const OLDER_TENSOR_MEMORY: [&str; 4] = [
    "__nv_reservedSMEM_allocation_phase",
    "__nv_reservedSMEM_allocation_mask",
    "__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier",
    "__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier_parity",
];

/// The names of what the system reserves in shared memory.
pub(crate) fn is_shared(name: &str) -> bool {
    name.starts_with(".nv.reservedSmem.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_exact() {
        assert!(DRIVER_FUNCTIONS.is_sorted());
        for name in DRIVER_FUNCTIONS {
            assert!(is_system_call(name), "{name}");
        }
        assert!(is_system_call("__cuda_syscall_anything"));
        for name in ["printf", "__cuda_sysca", "cnpLaunch", "calloc", ""] {
            assert!(!is_system_call(name), "{name}");
        }
    }
}
