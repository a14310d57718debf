//! What the linker has to say, once for all processors it concerns.

use rustnvlink::arch::Sm;
use rustnvlink::codes::{self, Code};
use rustnvlink::device_link::{Linked, Message, Shown, summarize};
use rustnvlink::diagnostic::{Diagnostic, Filter, Severity, some_of};

use super::Caller;
use crate::style::{ERROR, NOTE};

/// Shows what there is to say about options.
pub(super) fn print_notes(filter: &Filter, notes: Vec<Diagnostic>) {
    let notes = notes.into_iter().filter_map(|note| filter.wanted(note));
    let about_all = notes.map(|note| Message::new(None, note));
    print(&about_all.collect::<Vec<_>>());
}

/// Shows messages in the order in which they came up first.
pub(super) fn print(messages: &[Message]) {
    for Shown { severity, text, .. } in summarize(messages) {
        let (style, severity) = match severity {
            Severity::Text => {
                anstream::eprintln!("{text}");
                continue;
            }
            Severity::Info => (NOTE, "info"),
            Severity::Warning => (NOTE, "warning"),
            Severity::Error | Severity::Fatal => (ERROR, "error"),
        };
        anstream::eprintln!("{style}{severity}{style:#}: {text}");
    }
}

/// The code of warnings that an image is empty, which say less than what is wrong where that is an error.
pub(crate) const NO_CODE: Code = codes::NO_DEVICE_CODE;

/// What is wrong with a link for processors that no input has code for, or no kernel where there are some for others.
pub(crate) fn without_code(linked: &Linked) -> Option<String> {
    let lacking = |processors: Vec<Sm>, what: &str| {
        let names: Vec<String> = processors.iter().map(ToString::to_string).collect();
        (!names.is_empty()).then(|| format!("no input has {what} for {}", names.join(" or ")))
    };
    lacking(linked.without_code(), "device code")
        .or_else(|| lacking(linked.without_kernels(), "a kernel"))
}

/// What to do where no input has code for a processor of the link.
pub(super) fn choice(caller: Caller) -> &'static str {
    match caller {
        Caller::User | Caller::Nvcc => {
            "compile for it, too, or choose with --arch what `cargo cudalink inspect` shows"
        }
        Caller::Cmake => {
            "compile for it, too (CMAKE_CUDA_ARCHITECTURES, or CUDA_ARCHITECTURES of a target), or choose others with \
             ARCHITECTURES of the function that asks for the link"
        }
    }
}

/// What helps where the link has failed, and inputs do not fit its processors. Several messages of the linker say so, and
/// name --arch to others than those who have typed the command.
pub(super) fn help_with_processors(caller: Caller, linked: &Linked) -> Option<&'static str> {
    let (codes, help): (&[Code], _) = match caller {
        Caller::User => (
            &[codes::MISSING_ARCH_CODE],
            "compile all inputs for the processors of the link, or choose with --arch those that all have code for \
             (`cargo cudalink inspect` shows them)",
        ),
        Caller::Cmake => (
            ABOUT_PROCESSORS,
            "in CMake, CMAKE_CUDA_ARCHITECTURES, or CUDA_ARCHITECTURES of a target, says what objects are compiled for, and \
             ARCHITECTURES of rustnvlink_device_link() and rustnvlink_add_image() what they are linked for",
        ),
        Caller::Nvcc => (
            ABOUT_PROCESSORS,
            "compile all inputs for the processors of the link (in CMake, the same CUDA_ARCHITECTURES for all targets with \
             device code)",
        ),
    };
    codes.iter().any(|code| linked.has(*code)).then_some(help)
}

/// What helps where the link has failed because inputs wait for its optimizer.
pub(super) fn help_with_intermediates(caller: Caller, linked: &Linked) -> Option<&'static str> {
    let is_told = caller == Caller::Cmake && linked.has(codes::LTO_INPUT);
    is_told.then_some(
        "in CMake, OPTIONS --dlto of rustnvlink_device_link() and rustnvlink_add_image(), which add it themselves where \
         INTERPROCEDURAL_OPTIMIZATION of a target with CUDA sources is set",
    )
}

/// The codes of messages about inputs that do not fit the processors of a link.
const ABOUT_PROCESSORS: &[Code] = &[
    codes::ARCH_MISMATCH,
    codes::MISSING_ARCH_CODE,
    NO_CODE,
    codes::UNKNOWN_PROCESSOR,
];

/// What helps where something is undefined in a device link of build systems that has objects alone.
pub(super) const HELP_WITHOUT_LIBRARIES: &str = "only objects are linked here: libraries that define it have to stand in this \
     link; a static library that calls device functions of another one is built without a device link of its own (in CMake, \
     CUDA_RESOLVE_DEVICE_SYMBOLS OFF)";

/// What helps where something is undefined, and libraries are named that are nowhere: what CMake does not know as a target it
/// takes for the name of such a library.
pub(super) fn help_with_missing(libraries: &[String]) -> Option<String> {
    let names: Vec<String> = libraries.iter().map(|name| format!("-l{name}")).collect();
    Some(format!(
        "no library was found for {} (in CMake, a name in target_link_libraries() that is no target)",
        some_of(&names)?
    ))
}

/// What helps where something is undefined that a library may define which is linked on its own: these are the results.
pub(crate) fn help_with_results(objects: &[String]) -> Option<String> {
    let names = some_of(objects)?;
    Some(format!(
        "device functions cannot be called from elsewhere whose library has a device link of its own ({names}): \
         build it without (in CMake, CUDA_RESOLVE_DEVICE_SYMBOLS OFF)"
    ))
}
