//! Names by which a link knows sections, and what the names of those begin with that belong to a function or to another section.

/// The attribute records of a function.
pub(crate) const INFO_OF: &str = ".nv.info.";
/// The shared memory of a kernel.
pub(crate) const SHARED_OF: &str = ".nv.shared.";
/// The bank of the parameters of a kernel.
pub(crate) const PARAMETERS_OF: &str = ".nv.constant0.";
/// The relocations of a section that a link has resolved; its own name follows, which begins with a point.
pub(crate) const RESOLVED_OF: &str = ".nv.resolvedrela";
/// Variables in shared memory that belong to no kernel.
pub(crate) const MODULE_SHARED: &str = ".nv_debug.shared";
/// How debuggers find the callers of functions.
pub(crate) const FRAMES: &str = ".debug_frame";
/// What debug information says of the units that were compiled, and where their line tables begin.
pub(crate) const DEBUG_UNITS: &str = ".debug_info";
/// What debug information says of where variables are.
pub(crate) const DEBUG_LOCATIONS: &str = ".debug_loc";

/// Whether a section of this name holds a line table.
pub(crate) fn is_line_table(name: &str) -> bool {
    matches!(name, ".debug_line" | ".nv_debug_line_sass")
}
