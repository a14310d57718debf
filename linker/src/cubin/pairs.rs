//! Sections that are lists of two 32-bit words.

use crate::error::ParseError;

use super::tables::entries;

/// Size of one pair.
pub(super) const SIZE: usize = 8;

/// The pairs of a section.
pub(super) fn read<'d>(
    data: &'d [u8],
    what: &str,
) -> Result<impl ExactSizeIterator<Item = (u32, u32)> + use<'d>, ParseError> {
    entries::<SIZE>(data, what)?;
    Ok(read_whole(data))
}

/// The pairs of a section, without a part of one at its end.
pub(super) fn read_whole(data: &[u8]) -> impl ExactSizeIterator<Item = (u32, u32)> {
    let (pairs, _) = data.as_chunks::<SIZE>();
    pairs.iter().map(|pair| {
        let pair = u64::from_le_bytes(*pair);
        (pair as u32, (pair >> 32) as u32)
    })
}

/// Appends one pair.
pub(super) fn write(out: &mut Vec<u8>, (first, second): (u32, u32)) {
    out.extend_from_slice([first, second].map(u32::to_le_bytes).as_flattened());
}
