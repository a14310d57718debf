//! What the linker says about inputs and programs, with the code of each message.

use super::{Diagnostic, Severity};
use crate::arch::{Sm, help_with};
use crate::codes;
use crate::cubin::InfoCode;
use crate::demangle::readable;
use crate::error::ParseError;
use crate::options::Behaviour;
use crate::prune::Missed;

/// What two inputs can disagree about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// Sizes of a variable.
    Size,
    /// Signatures of a function.
    Prototype,
    /// Kinds of memory, or a function against a variable.
    MemorySpace,
    /// Whether a variable is `__managed__`.
    Managed,
}

impl Diagnostic {
    /// Two inputs define one name.
    pub(crate) fn multiple_definition(name: &str, input: &str, first: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::MULTIPLE_DEFINITION,
            format!("Multiple definition of '{name}' in '{input}', first defined in '{first}'"),
        )
        .of_mangled(name)
        .of_input(input)
        .with_twice(input, first)
    }

    /// Adds advice if both inputs seem to be the same file.
    fn with_twice(self, input: &str, first: &str) -> Self {
        let file = |name: &str| name.rsplit(['/', ':']).next().map(str::to_owned);
        match file(input) == file(first) {
            true => self.with_note("help: if both are the same object, leave one of them out"),
            false => self,
        }
    }

    /// Two inputs disagree about a name they share.
    pub(crate) fn mismatch(what: Mismatch, name: &str, input: &str, first: &str) -> Self {
        let (code, subject, how) = match what {
            Mismatch::Size => (codes::SIZE_MISMATCH, "Size", "specified"),
            Mismatch::Prototype => (codes::PROTOTYPE_MISMATCH, "Prototype", "defined"),
            Mismatch::MemorySpace => (codes::MEMORY_SPACE_MISMATCH, "Memory space", "specified"),
            Mismatch::Managed => (codes::MANAGED_MISMATCH, "Managed attribute", "specified"),
        };
        Self::new(
            Severity::Error,
            code,
            format!("{subject} doesn't match for '{name}' in '{input}', first {how} in '{first}'"),
        )
        .of_mangled(name)
        .of_input(input)
    }

    /// A tentative definition asks for more than the definition with a value has.
    pub(crate) fn common_too_large(name: &str, input: &str) -> Self {
        let text =
            format!("Common symbol '{name}' in file '{input}' has larger size than initialization");
        Self::new(Severity::Error, codes::SIZE_MISMATCH, text)
            .of_mangled(name)
            .of_input(input)
    }

    /// A function is a kernel in one input and none in another.
    pub(crate) fn not_always_a_kernel(name: &str, input: &str, first: &str) -> Self {
        let text = format!("Function '{name}' not declared __global__ in all source files");
        Self::new(Severity::Error, codes::KERNEL_MISMATCH, text)
            .of_mangled(name)
            .of_input(input)
            .with_note(format_args!("'{first}' and '{input}' differ"))
    }

    /// Inputs of CUDA 12 and 13 both use tensor memory.
    pub(crate) fn old_tensor_memory(input: &str) -> Self {
        let text = format!(
            "Object '{input}' cannot be linked due to version mismatch. Objects using tcgen05 in \
             12.x cannot be linked with 13.0 or later, they must be rebuilt with latest compiler"
        );
        Self::new(Severity::Error, codes::OLD_TENSOR_MEMORY, text)
    }

    /// A link for a processor that this linker does not know.
    pub(crate) fn unknown_processor(target: Sm) -> Self {
        let help = help_with(&target.to_string());
        Self::fatal(
            codes::UNKNOWN_PROCESSOR,
            format!("Cannot link for {target}: {help}"),
        )
    }

    /// Unified functions or variables need an index that all images share.
    pub(crate) fn unified_without_index() -> Self {
        let text = "Unified symbols found but index file not specified.";
        Self::fatal(codes::NO_UNIFIED_INDEX, text)
    }

    /// An input holds addresses that a relocatable link filled in too early.
    pub(crate) fn stale_addresses(input: &str, spaces: &str) -> Self {
        let text = format!(
            "'{input}' comes from nvlink -r, which filled in addresses of {spaces} that do not \
             hold in this link"
        );
        Self::new(Severity::Warning, codes::STALE_ADDRESSES, text)
    }

    /// An input does not say what its code needs.
    pub(crate) fn missing_attribute(target: Sm, attribute: &str, input: &str) -> Self {
        let text = format!(
            "Output is limited to run on SM Arch '{}' only, due to missing attribute \
             '{attribute}' in input file '{input}'",
            target.number
        );
        Self::new(Severity::Warning, codes::MISSING_ATTRIBUTE, text)
    }

    /// Bytes that are not what they should be.
    pub(crate) fn bad_input(error: &ParseError, behaviour: Behaviour) -> Self {
        let text = match (behaviour, error.nvlink) {
            (Behaviour::Nvlink, Some(error)) => format!("Internal error: {error}"),
            (Behaviour::Nvlink | Behaviour::Own, _) => error.to_string(),
        };
        Self::fatal(codes::BAD_INPUT, text).at(&error.location)
    }

    /// An object does not say how many registers its code needs.
    pub(crate) fn no_register_count(function: &str, input: &str) -> Self {
        let text = "Internal error: no regcount?";
        Self::fatal(codes::NO_REGISTER_COUNT, text).with_detail(format_args!(
            "'{input}' has none for {}",
            readable(function)
        ))
    }

    /// The call graph names what is no function.
    pub(crate) fn no_call_graph_node() -> Self {
        let text = "Internal error: no callgraph node";
        Self::fatal(codes::NO_CALL_GRAPH_NODE, text)
    }

    /// Something is in use that nvlink has dropped, a function together with another name for its code, say.
    pub(crate) fn reference_to_deleted(what: Missed) -> Self {
        let text = format!("Internal error: reference to deleted {}", what.name());
        Self::fatal(codes::REFERENCE_TO_DELETED, text)
    }

    /// Doubles take longer than code waits for, and it cannot be made anew.
    pub(crate) fn faster_doubles(function: &str, target: Sm) -> Self {
        let text = format!(
            "'{function}' computes with doubles, which take longer on {target} than it waits for, and cannot be made anew; \
             compile it for {target}"
        );
        Self::new(Severity::Warning, codes::FASTER_DOUBLES, text)
    }

    /// What nvlink says where it loses track of relocations.
    pub(crate) fn unexpected_relocation() -> Self {
        let text = "Internal error: unexpected reloc";
        Self::fatal(codes::BAD_INPUT, text)
    }

    /// An input cannot be merged; what is wrong with it was reported.
    pub(crate) fn merge_failed() -> Self {
        Self::fatal(codes::MERGE_FAILED, "merge_elf failed")
    }

    /// Two inputs define a weak kernel with other parameters.
    pub(crate) fn other_parameters(kernel: &str) -> Self {
        let text = format!("Duplicate weak parameter bank for '{kernel}' is not the same size");
        Self::new(Severity::Error, codes::OTHER_PARAMETERS, text).of_mangled(kernel)
    }

    /// A function uses what the system keeps in shared memory, in a link that leaves it no place.
    pub(crate) fn reserved_shared(function: &str) -> Self {
        let text = format!("Function '{function}' uses reserved shared memory when not allowed.");
        Self::new(Severity::Error, codes::RESERVED_SHARED, text).of_mangled(function)
    }

    /// An object is linked with a whole program.
    pub(crate) fn whole_program_company(name: &str) -> Self {
        let text = format!("'{name}': -ewp compiled objects should only link with libcudadevrt");
        Self::new(Severity::Warning, codes::WHOLE_PROGRAM_COMPANY, text)
    }

    /// nvlink has left out the device runtime, and expects nothing behind it.
    pub(crate) fn behind_runtime() -> Self {
        let text = "unexpected object after cudadevrt";
        Self::fatal(codes::BEHIND_RUNTIME, text)
    }

    /// A kernel needs more static shared memory than there is.
    pub(crate) fn too_much_shared(kernel: &str, size: u64, limit: u64) -> Self {
        Self::new(
            Severity::Error,
            codes::TOO_MUCH_SHARED,
            format!(
                "Entry function '{kernel}' uses too much shared data ({size:#x} bytes, \
                 {limit:#x} max)"
            ),
        )
        .of_mangled(kernel)
    }

    /// A kernel whose shared memory the compiler has laid out reaches a variable of another file.
    pub(crate) fn shared_of_others(variable: &str, kernel: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::SHARED_OF_OTHERS,
            format!(
                "Cannot link shared object '{variable}' with partially linked kernel '{kernel}'"
            ),
        )
        .of_mangled(kernel)
    }

    /// A kernel and the functions that it calls use tensor memory both for one
    /// block of threads and for pairs of them.
    pub(crate) fn mixed_tensor_groups(kernel: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::MIXED_TENSOR_GROUPS,
            format!(
                "Function '{kernel}' uses single CTA(.cta_group::1) and CTA pair \
                 granularity(.cta_group::2) and that is not allowed."
            ),
        )
        .of_mangled(kernel)
    }

    /// The module's constants do not fit their bank. The largest of them have a
    /// name, a size and an input.
    pub(crate) fn too_much_constant<'n>(
        size: u64,
        limit: u64,
        largest: impl Iterator<Item = (&'n str, u64, &'n str)>,
    ) -> Self {
        let text =
            format!("File uses too much global constant data ({size:#x} bytes, {limit:#x} max)");
        let error = Self::new(Severity::Error, codes::TOO_MUCH_CONSTANT, text);
        largest.fold(error, |error, (name, size, input)| {
            error.with_note(format_args!(
                "{size} bytes: '{}' in '{input}'",
                readable(name)
            ))
        })
    }

    /// What the compiler made for a kernel and its functions is more than a
    /// bank holds.
    pub(crate) fn too_many_compiler_constants(kernel: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::TOO_MANY_COMPILER_CONSTANTS,
            format!(
                "Entry function '{kernel}' uses too much data for compiler-generated constants; \
                 please recompile with -Xptxas --disable-optimizer-constants"
            ),
        )
        .of_mangled(kernel)
    }

    /// A kernel was compiled for fewer registers than a function it calls
    /// needs.
    pub(crate) fn too_many_registers(kernel: &str, limit: u32, function: &str, count: u32) -> Self {
        Self::new(
            Severity::Error,
            codes::TOO_MANY_REGISTERS,
            format!(
                "entry function '{kernel}' with max regcount of {limit} calls function \
                 '{function}' with regcount of {count}"
            ),
        )
        .of_symbol(kernel)
        .with_readable(&[kernel, function])
        .with_note(format_args!(
            "help: let the kernel have {count} registers (__launch_bounds__, -maxrregcount), or \
             compile the function for {limit}"
        ))
    }

    /// What functions hand over to a kernel does not fit into one record.
    pub(crate) fn record_too_large(code: InfoCode, section: &str, size: usize) -> Self {
        let limit = u16::MAX;
        let text =
            format!("Record {code} in '{section}' is too large ({size:#x} bytes, {limit:#x} max)");
        Self::new(Severity::Error, codes::RECORD_TOO_LARGE, text)
    }

    /// The address of a function is taken, and nothing calls it.
    pub(crate) fn uncalled(name: &str) -> Self {
        Self::new(
            Severity::Warning,
            codes::UNCALLED_FUNCTION,
            format!("Function '{name}' has address taken but no calls to it found"),
        )
        .of_mangled(name)
    }

    /// Nobody defines a name that is used.
    pub(crate) fn undefined_reference(name: &str, input: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::UNDEFINED_REFERENCE,
            format!("Undefined reference to '{name}' in '{input}'"),
        )
        .of_mangled(name)
        .of_input(input)
    }
}
