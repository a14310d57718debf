//! Moves parts of a section to other places.

use crate::id::{SectionId, SymbolId};
use crate::merge::{Content, Contribution, Merged, Relocation};

/// A variable or slot that moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    pub(super) symbol: SymbolId,
    pub(super) from: u64,
    pub(super) size: u64,
    pub(super) to: u64,
}

/// What becomes of relocations outside of the parts that move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// They are dropped.
    Goes,
    /// They keep their distance from the part before them, plus this number of bytes.
    Follows(u64),
}

/// Moves parts of a section, which is then `size` bytes long, with the relocations in them. The bytes between the parts are
/// dropped, and `rest` says what becomes of relocations there.
pub(super) fn move_parts(
    merged: &mut Merged<'_>,
    section: SectionId,
    mut moves: Vec<Move>,
    size: u64,
    rest: Rest,
) {
    moves.sort_by_key(|part| part.to);
    let row = &mut merged.sections[section];
    row.content = moved(&row.content, &moves, size);
    if let Some(native) = &mut row.native {
        native.content = moved(&native.content, &moves, size);
    }
    moves.sort_by_key(|part| part.from);
    let follow = |relocation: &mut Relocation| {
        let before = moves.partition_point(|part| part.from <= relocation.offset);
        let part = before.checked_sub(1).map(|index| moves[index]);
        let (part, further) = match rest {
            Rest::Goes => {
                let holds = |part: &Move| relocation.offset - part.from < part.size;
                (part.filter(holds), 0)
            }
            Rest::Follows(further) => (part, further),
        };
        if let Some(part) = part {
            relocation.offset = relocation.offset - part.from + part.to + further;
        }
        part.is_some()
    };
    row.relocations.retain_mut(follow);
    if let Some(native) = &mut row.native {
        native.relocations.retain_mut(follow);
    }
    for part in moves {
        merged.symbols[part.symbol].value = part.to;
    }
}

/// The parts of `content` at their new places, by offset.
fn moved<'d>(content: &Content<'d>, moves: &[Move], size: u64) -> Content<'d> {
    let parts = moves.iter().filter_map(|part| {
        let sources = &content.contributions;
        let before = sources.partition_point(|source| source.offset <= part.from);
        let source = sources[before.checked_sub(1)?];
        let start = (part.from - source.offset) as usize;
        let data = source.data.get(start..)?;
        Some(Contribution {
            offset: part.to,
            data: data.get(..part.size as usize).unwrap_or(data),
            ..source
        })
    });
    Content {
        contributions: parts.collect(),
        size,
        align: content.align,
    }
}
