//! The plan of an image of the Mercury generation.

use crate::finalize::Finalized;

use super::image::Plan;

/// Plans the image.
pub(super) fn plan(finalized: &Finalized<'_>, tool_record: &[u8]) -> Plan {
    super::native::plan(finalized, tool_record)
}
