//! Where the numbers in the header of an entry stand.

/// What the entry holds, as two bytes.
pub(super) const KIND: u64 = 0x00;
/// The version of the header, as two bytes.
pub(super) const HEADER_VERSION: u64 = 0x02;
/// The size of the header with the identifier and the options behind it, as four bytes.
pub(super) const HEADER_SIZE: u64 = 0x04;
/// The size of the payload as stored, with its padding, as eight bytes.
pub(super) const STORED_SIZE: u64 = 0x08;
/// Its size without the padding where it is compressed, as four bytes.
pub(super) const COMPRESSED_SIZE: u64 = 0x10;
/// Where the options record stands in the entry, as four bytes.
pub(super) const OPTIONS: u64 = 0x14;
/// The version of the code format: the number behind the point, as two bytes.
pub(super) const CODE_MINOR: u64 = 0x18;
/// The number before it, as two bytes.
pub(super) const CODE_MAJOR: u64 = 0x1a;
/// The number of the processor, as four bytes.
pub(super) const PROCESSOR: u64 = 0x1c;
/// Where the identifier stands in the entry, as four bytes.
pub(super) const IDENTIFIER: u64 = 0x20;
/// The length of the identifier, as four bytes.
pub(super) const IDENTIFIER_LENGTH: u64 = 0x24;
/// The flag bits, as eight bytes.
pub(super) const FLAGS: u64 = 0x28;
/// The number that belongs to scrambled LTO-IR, as eight bytes.
pub(super) const SCRAMBLE: u64 = 0x30;
/// The size of the payload after decompression, as eight bytes.
pub(super) const SIZE: u64 = 0x38;
