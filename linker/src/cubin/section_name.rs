//! Names by which a link knows sections, and what the names of those begin with that belong to a function or to another section.

/// What names of sections of the Mercury world begin with; the name of the section that they are copies of follows, which begins
/// with a point.
pub(crate) const MERCURY_OF: &str = ".nv.merc";
/// The same of Mercury code.
pub(crate) const MERCURY_CODE_OF: &str = ".nv.capmerc";
/// The code of a function.
pub(crate) const CODE_OF: &str = ".text.";
/// Relocations with addends; the name of their section follows, which begins with a point.
pub(crate) const RELA_OF: &str = ".rela";
/// The same without addends.
pub(crate) const REL_OF: &str = ".rel";
/// A constant bank; its number follows, or in the Mercury world a point and what it is for.
pub(crate) const BANK: &str = ".nv.constant";
/// The attribute records of a module.
pub(crate) const INFO: &str = ".nv.info";
/// Variables in global memory.
pub(crate) const GLOBAL: &str = ".nv.global";
/// The same with values.
pub(crate) const GLOBAL_INIT: &str = ".nv.global.init";
/// The local memory of a function.
pub(crate) const LOCAL_OF: &str = ".nv.local.";
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
