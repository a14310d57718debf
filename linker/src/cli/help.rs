//! What `--help` and `--version` print.

use std::fmt::Write as _;

use super::flags::{FLAGS, Group, Spelling};
use crate::explain::wrap;
use crate::tool_record::{BUILD, RELEASE};

/// The width of the text.
const WIDTH: usize = 80;
/// Where the descriptions begin.
const INDENT: usize = 8;

/// The list of options.
pub(super) fn text() -> String {
    let mut text = String::from(
        "Links relocatable CUDA objects into an image that the driver loads, or, with -r,
into one object.

Usage: rustnvlink -arch=sm_NN -o FILE [options] INPUT..

An input is a host object, a static library (plain or thin), a cubin, a fatbin,
PTX (compiled by ptxas of the CUDA toolkit) or, with -dlto, LTO-IR.
A value stands behind `=` or in the next argument. Arguments can also come from
files: `--options-file FILE`, or `@FILE`.
",
    );
    for group in [
        Group::Files,
        Group::Linking,
        Group::DeadCode,
        Group::Messages,
        Group::Ours,
        Group::LinkTime,
    ] {
        let _ = write!(text, "\n{}:\n", group.title());
        for spelling in FLAGS.iter().filter(|spelling| spelling.group == group) {
            describe(spelling, &mut text);
        }
    }
    text.push_str(
        "
Exit codes: 0 the image was written, 1 the command line or an input is at fault,
255 the program that is linked is at fault. Messages end in a code in brackets,
which --explain explains.
",
    );
    text
}

fn describe(spelling: &Spelling, text: &mut String) {
    let _ = write!(text, "  --{}", spelling.long);
    if let Some(short) = spelling.short {
        let _ = write!(text, ", -{short}");
    }
    if !spelling.placeholder.is_empty() {
        let _ = write!(text, " <{}>", spelling.placeholder);
    }
    let _ = write!(text, "\n{:INDENT$}", "");
    wrap(spelling.help, INDENT, WIDTH, text);
    text.push('\n');
}

/// The version, in the shape of nvlink's: scripts look for the release of the
/// toolkit whose linker this one replaces.
pub(super) fn version() -> String {
    format!(
        "rustnvlink: Cuda linker\n\
         Copyright (c) the RustNvLink authors\n\
         {RELEASE}\n\
         {BUILD}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_wide() {
        let text = text();
        assert!(text.contains("  --output-file, -o <FILE>\n        Where the linked image goes."));
        for line in text.lines() {
            assert!(line.len() <= WIDTH, "{line}");
        }
    }
}
