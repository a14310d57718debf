//! Phase 7: numbers, names and offsets; then the bytes of the image.
//!
//! A plan lists the output sections in their order with all header fields;
//! [`image`] turns a plan into bytes.

mod blocks;
mod encode;
mod image;
mod mercury;
mod native;
mod numbering;
mod sections;

use std::io;

use crate::finalize::Finalized;
use crate::output::Sink;

/// Writes the finished image.
pub(crate) fn write(
    finalized: &Finalized<'_>,
    tool_record: &[u8],
    out: &mut dyn Sink,
) -> io::Result<()> {
    let merged = finalized.merged();
    let plan = if merged.target.has_mercury() {
        mercury::plan(finalized, tool_record)
    } else {
        native::plan(finalized, tool_record)
    };
    image::write(&plan, out)
}
