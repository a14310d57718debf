//! What a link says of itself in `.note.nv.tkinfo`.

use crate::cubin::{Note, NoteKind, ToolNote};

/// The release of the toolkit whose linker this one replaces.
pub(crate) const RELEASE: &str = "Cuda compilation tools, release 13.0, V13.0.88";
/// Which of ours it is.
pub(crate) const BUILD: &str = concat!("Build rustnvlink ", env!("CARGO_PKG_VERSION"));

/// The note of a link that writes this object, with these words on its command line.
pub(crate) fn tool_record(object: &str, options: &str) -> Vec<u8> {
    let description = ToolNote {
        version: 2,
        object,
        tool: env!("CARGO_PKG_NAME"),
        tool_version: RELEASE,
        branch: BUILD,
        options,
    }
    .encode();
    let mut bytes = Vec::new();
    Note::nvidia(NoteKind::TOOL, &description).encode(&mut bytes);
    bytes
}
