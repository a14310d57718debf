//! How long the factors of products of matrices are.

use super::{Bits128, HMMA, IMMA, QMMA};

/// Whether half of the first factor is left out, which one more register tells.
pub(in super::super) fn is_sparse(operation: u16, bits: &Bits128) -> bool {
    match operation {
        HMMA => bits.is_set(73),
        IMMA => bits.is_set(72),
        QMMA => bits.is_set(76),
        _ => false,
    }
}

/// Whether the rows of the first factor have the longer one of two lengths.
pub(super) fn has_long_rows(operation: u16, bits: &Bits128) -> bool {
    let is_tf32 = operation == HMMA && bits.is_set(83);
    match (operation, is_sparse(operation, bits)) {
        (HMMA, true) => bits.is_set(if is_tf32 { 75 } else { 78 }),
        (IMMA, true) => bits.is_set(85),
        // They have one length.
        (QMMA, true) => true,
        _ if is_tf32 => !bits.is_set(78),
        _ => bits.is_set(75),
    }
}
