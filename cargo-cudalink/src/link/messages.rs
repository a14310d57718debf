//! What the linker has to say, once for all processors it concerns.

use rustnvlink::cli::messages::Messages;
use rustnvlink::device_link::{Linked, Message, Shown, summarize};
use rustnvlink::diagnostic::{Diagnostic, Severity, some_of};

use crate::style::{ERROR, NOTE};

/// Shows what there is to say about options.
pub(super) fn print_notes(wanted: &Messages, notes: Vec<Diagnostic>) {
    let notes = notes.into_iter().filter_map(|note| wanted.wanted(note));
    let about_all = notes.map(|diagnostic| Message {
        sm: None,
        diagnostic,
    });
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
pub(crate) const NO_CODE: &str = "no-device-code";

/// What is wrong with a link for processors that no input has code for.
pub(crate) fn without_code(linked: &Linked) -> Option<String> {
    let names: Vec<String> = linked
        .without_code()
        .iter()
        .map(ToString::to_string)
        .collect();
    (!names.is_empty()).then(|| format!("no input has device code for {}", names.join(" or ")))
}

/// What helps where something is undefined in a device link of build systems that has objects alone.
pub(super) const HELP_WITHOUT_LIBRARIES: &str = "only objects are linked here: libraries that define it have to stand in this \
     link; a static library that calls device functions of another one is built without a device link of its own (in CMake, \
     CUDA_RESOLVE_DEVICE_SYMBOLS OFF)";

/// What helps where something is undefined that one of these objects may define.
pub(crate) fn help_with_closed(objects: &[String]) -> Option<String> {
    let names = some_of(objects)?;
    Some(format!(
        "device functions of {names} cannot be called from elsewhere: compile with -rdc=true \
         (in CMake, CUDA_SEPARABLE_COMPILATION ON)"
    ))
}

/// The same where a library is linked on its own: these are the results.
pub(crate) fn help_with_results(objects: &[String]) -> Option<String> {
    let names = some_of(objects)?;
    Some(format!(
        "device functions cannot be called from elsewhere whose library has a device link of its own ({names}): \
         build it without (in CMake, CUDA_RESOLVE_DEVICE_SYMBOLS OFF)"
    ))
}
