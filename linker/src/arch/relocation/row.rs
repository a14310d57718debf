//! One row of a relocation table, and the bits it moves.

use super::RelocationType;

/// Bits of the value that land in bits of the patched place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitField {
    /// Lowest bit in the patched place, counted from the relocation's offset.
    pub destination: u8,
    /// Lowest bit in the value.
    pub source: u8,
    /// Number of bits.
    pub bits: u8,
}

/// What a link does with a relocation whose target's value it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The fields receive `S + A` and the relocation disappears.
    Patch,
    /// Like [`Class::Patch`], but the fields receive `A` alone.
    Slot,
    /// The relocation stays in the output; only the driver can resolve it.
    KeptForDriver,
    /// The relocation disappears and nothing is patched.
    Dropped,
    /// Like [`Class::Dropped`], except that one against a function stays. In programs of code
    /// for virtual processors before sm_70 alone the addend goes to the field.
    Yield(BitField),
    /// The fields are zeroed if the target function was removed; the
    /// relocation disappears in any case.
    UnusedClear,
    /// Asks for a function descriptor: kept against functions, and
    /// meaningless against data.
    FunctionDescriptor,
    /// A distance inside one section, impossible across sections.
    PcRelative,
    /// Behaves as `plain`, and is written as `plain` where it is kept.
    Unified {
        /// The type without unified addressing.
        plain: RelocationType,
    },
    /// No tool writes it and nvlink stops at it.
    Refused,
}

/// What a link does with a relocation against a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionTarget {
    /// Kept, written as this type.
    KeptAs(RelocationType),
    /// Dropped; its fields are zeroed first if the function was removed.
    ClearedIfRemoved,
    /// Dropped.
    Dropped,
    /// An error.
    Refused,
}

/// What is known of a relocation type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The name, as NVIDIA's tools print it.
    pub name: &'static str,
    /// What becomes of it.
    pub class: Class,
    /// Where the bits of the value go; empty for types that patch nothing.
    pub fields: &'static [BitField],
    /// Where the number of the target's constant bank goes, for the types
    /// that carry it.
    pub bank: &'static [BitField],
    /// Where one without an addend of its own keeps it, for the types that a
    /// link leaves alone or that keep another one than they add to.
    pub held: &'static [BitField],
}

/// A relocation that cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The patched bits reach past the section.
    #[error("it patches bytes up to {end:#x}, past the {available:#x} there are")]
    PastEnd {
        /// Where the patched bits end.
        end: u64,
        /// How many bytes there are.
        available: u64,
    },
    /// The type wants a bank number and the target lies in no constant bank.
    #[error("{0} needs a target in a constant bank")]
    NoBank(&'static str),
    /// A bank number that its five bits cannot hold.
    #[error("constant bank {0} does not fit into five bits")]
    BankTooLarge(u8),
    /// The type patches nothing.
    #[error("{0} cannot be resolved by a link")]
    NoField(&'static str),
}

/// Number of bits that hold a constant bank.
const BANK_BITS: u8 = 5;

/// Bits `source..` of the value go to bits `destination..` of the place.
pub(super) const fn field(destination: u8, source: u8, bits: u8) -> BitField {
    BitField {
        destination,
        source,
        bits,
    }
}

/// What a relocation leads to: a value that is known at link time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The value of the symbol.
    pub value: u64,
    /// The constant bank that it lies in, if any.
    pub bank: Option<u8>,
}

impl Target {
    /// One in no constant bank.
    pub fn plain(value: u64) -> Self {
        Self { value, bank: None }
    }

    /// One in a constant bank.
    pub fn in_bank(bank: u8, value: u64) -> Self {
        Self {
            value,
            bank: Some(bank),
        }
    }
}

impl Row {
    pub(super) const KEPT_FOR_DRIVER: Self = Self::bare(Class::KeptForDriver);
    pub(super) const DROPPED: Self = Self::bare(Class::Dropped);
    pub(super) const FUNCTION_DESCRIPTOR: Self = Self::bare(Class::FunctionDescriptor);
    pub(super) const PC_RELATIVE: Self = Self::bare(Class::PcRelative);
    pub(super) const REFUSED: Self = Self::bare(Class::Refused);

    const fn bare(class: Class) -> Self {
        Self {
            name: "",
            class,
            fields: &[],
            bank: &[],
            held: &[],
        }
    }

    pub(super) const fn patch(fields: &'static [BitField]) -> Self {
        Self {
            fields,
            ..Self::bare(Class::Patch)
        }
    }

    pub(super) const fn slot(fields: &'static [BitField]) -> Self {
        Self {
            fields,
            ..Self::bare(Class::Slot)
        }
    }

    pub(super) const fn bank(fields: &'static [BitField], bank: &'static [BitField]) -> Self {
        Self {
            bank,
            ..Self::patch(fields)
        }
    }

    pub(super) const fn unused_clear(fields: &'static [BitField]) -> Self {
        Self {
            fields,
            ..Self::bare(Class::UnusedClear)
        }
    }

    pub(super) const fn yields(settled: BitField) -> Self {
        Self::bare(Class::Yield(settled))
    }

    pub(super) const fn unified(fields: &'static [BitField], plain: RelocationType) -> Self {
        Self {
            fields,
            ..Self::bare(Class::Unified { plain })
        }
    }

    /// The same type, which keeps its addend here where it has none of its own.
    pub(super) const fn holding(self, held: &'static [BitField]) -> Self {
        Self { held, ..self }
    }

    /// How many bytes from the relocation's offset on it may touch.
    pub fn patched_bytes(&self) -> u64 {
        bytes_of(self.fields.iter().chain(self.bank))
    }

    /// Resolves a relocation against `target`.
    ///
    /// Without an addend of its own a relocation adds to what the fields
    /// hold, the bank's included.
    pub fn resolve(
        &self,
        bytes: &mut [u8],
        offset: u64,
        target: Target,
        addend: Option<i64>,
    ) -> Result<(), ApplyError> {
        let (addend, bank) = match addend {
            Some(addend) => (addend as u64, target.bank),
            None => {
                let place = &bytes[self.place(bytes.len(), offset)?];
                let old = self.read_bank(place);
                let sum = |bank: u8| bank.wrapping_add(old) & mask(BANK_BITS) as u8;
                (self.read_addend(place), target.bank.map(sum))
            }
        };
        let value = match self.class {
            Class::Slot => addend,
            Class::Patch
            | Class::KeptForDriver
            | Class::Dropped
            | Class::Yield(_)
            | Class::UnusedClear
            | Class::FunctionDescriptor
            | Class::PcRelative
            | Class::Unified { .. }
            | Class::Refused => target.value.wrapping_add(addend),
        };
        self.apply(bytes, offset, Target { value, bank })
    }

    /// Writes a value into the row's fields at `offset`, and its bank where the
    /// type carries a bank number. Bits outside the fields stay as they are.
    pub fn apply(&self, bytes: &mut [u8], offset: u64, target: Target) -> Result<(), ApplyError> {
        let Target { value, bank } = target;
        let bank = match bank {
            _ if self.bank.is_empty() => 0,
            None => return Err(ApplyError::NoBank(self.name)),
            Some(bank) if bank >> BANK_BITS != 0 => return Err(ApplyError::BankTooLarge(bank)),
            Some(bank) => bank.into(),
        };
        let place = self.place(bytes.len(), offset)?;
        let place = &mut bytes[place];
        let mut word = load(place);
        let fields = self.fields.iter().map(|field| (field, value));
        let banks = self.bank.iter().map(|field| (field, bank));
        for (field, value) in fields.chain(banks) {
            word = write(word, field, value);
        }
        place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
        Ok(())
    }

    /// Writes `value` into one field at `offset`, whatever the row's fields are.
    pub fn settle(
        field: &BitField,
        bytes: &mut [u8],
        offset: u64,
        value: u64,
    ) -> Result<(), ApplyError> {
        let end = offset.saturating_add(bytes_of(std::iter::once(field)));
        let place = place(bytes.len(), offset, end)?;
        let place = &mut bytes[place];
        let word = write(load(place), field, value);
        place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
        Ok(())
    }

    /// The addend that the fields at `offset` hold, as relocations without an
    /// addend of their own keep it. Bits the fields leave out read as zero.
    pub fn implicit_addend(&self, bytes: &[u8], offset: u64) -> Result<u64, ApplyError> {
        if self.held.is_empty() {
            return Ok(self.read_addend(&bytes[self.place(bytes.len(), offset)?]));
        }
        let end = offset.saturating_add(bytes_of(self.held.iter()));
        let place = place(bytes.len(), offset, end)?;
        let word = load(&bytes[place]);
        Ok(self.held.iter().fold(0, |addend, field| {
            addend | read(word, field) << field.source
        }))
    }

    fn read_addend(&self, place: &[u8]) -> u64 {
        // A field holds the bits of the addend that it will hold of the
        // value, except that a single byte holds the lowest ones.
        let is_byte = matches!(self.fields, [field] if field.bits == 8);
        let word = load(place);
        self.fields.iter().fold(0, |addend, field| {
            let shift = if is_byte { 0 } else { field.source };
            addend | read(word, field) << shift
        })
    }

    fn read_bank(&self, place: &[u8]) -> u8 {
        let word = load(place);
        self.bank.iter().fold(0, |bank, field| {
            bank | (read(word, field) << field.source) as u8
        })
    }

    /// What becomes of a relocation of this row's type, `kind`, whose target
    /// is a function.
    pub fn against_function(&self, kind: RelocationType) -> FunctionTarget {
        match self.class {
            Class::Patch
            | Class::Slot
            | Class::KeptForDriver
            | Class::Yield(_)
            | Class::FunctionDescriptor
            | Class::PcRelative => FunctionTarget::KeptAs(kind),
            Class::Unified { plain } => FunctionTarget::KeptAs(plain),
            Class::UnusedClear => FunctionTarget::ClearedIfRemoved,
            Class::Dropped => FunctionTarget::Dropped,
            Class::Refused => FunctionTarget::Refused,
        }
    }

    fn place(&self, available: usize, offset: u64) -> Result<std::ops::Range<usize>, ApplyError> {
        if self.fields.is_empty() {
            return Err(ApplyError::NoField(self.name));
        }
        place(
            available,
            offset,
            offset.saturating_add(self.patched_bytes()),
        )
    }
}

fn place(available: usize, offset: u64, end: u64) -> Result<std::ops::Range<usize>, ApplyError> {
    if end > available as u64 {
        return Err(ApplyError::PastEnd {
            end,
            available: available as u64,
        });
    }
    Ok(offset as usize..end as usize)
}

/// How many bytes hold all of the fields.
fn bytes_of<'f>(fields: impl Iterator<Item = &'f BitField>) -> u64 {
    fields
        .map(|field| field.destination + field.bits)
        .max()
        .map_or(0, |bits| u64::from(bits).div_ceil(8))
}

fn mask(bits: u8) -> u128 {
    (1 << bits) - 1
}

/// A word with the bits of `value` that belong into a field.
fn write(word: u128, field: &BitField, value: u64) -> u128 {
    let mask = mask(field.bits) << field.destination;
    let moved = u128::from(value >> field.source) << field.destination;
    word & !mask | moved & mask
}

fn read(word: u128, field: &BitField) -> u64 {
    (word >> field.destination & mask(field.bits)) as u64
}

/// Up to sixteen bytes as one little-endian number.
fn load(bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The naive twin: one bit at a time.
    fn apply_bit_by_bit(row: &Row, bytes: &mut [u8], offset: usize, value: u64, bank: u8) {
        let mut set = |bit: usize, on: bool| {
            let byte = &mut bytes[offset + bit / 8];
            let mask = 1 << (bit % 8);
            if on {
                *byte |= mask;
            } else {
                *byte &= !mask;
            }
        };
        for field in row.fields {
            for bit in 0..field.bits {
                let on = value >> (field.source + bit) & 1 == 1;
                set(usize::from(field.destination + bit), on);
            }
        }
        for field in row.bank {
            for bit in 0..field.bits {
                let on = bank >> (field.source + bit) & 1 == 1;
                set(usize::from(field.destination + bit), on);
            }
        }
    }

    fn rows() -> impl Iterator<Item = (RelocationType, &'static Row)> {
        (0..0x120)
            .chain(0x10000..0x10100)
            .map(RelocationType)
            .filter_map(|kind| Some((kind, kind.row()?)))
    }

    #[test]
    fn every_row_patches_what_its_naive_twin_patches() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut patched = 0;
        for (_, row) in rows().filter(|(_, row)| !row.fields.is_empty()) {
            for _ in 0..50 {
                let mut expected: Vec<u8> = (0..40).map(|_| random() as u8).collect();
                let mut bytes = expected.clone();
                let offset = random() % 24;
                let (value, bank) = (random(), random() as u8 % 32);
                apply_bit_by_bit(row, &mut expected, offset as usize, value, bank);
                let target = Target::in_bank(bank, value);
                row.apply(&mut bytes, offset, target).unwrap();
                assert_eq!(bytes, expected, "{}", row.name);
                let is_byte = row.fields.len() == 1 && row.fields[0].bits == 8;
                let kept = match row.fields {
                    // 71 keeps its addend as if it were the low half.
                    [high] if !row.held.is_empty() => value >> high.source,
                    [byte] if is_byte => value >> byte.source & 0xff,
                    fields => fields.iter().fold(0, |kept, f| {
                        kept | value & (mask(f.bits) as u64) << f.source
                    }),
                };
                assert_eq!(row.implicit_addend(&bytes, offset), Ok(kept));
                patched += 1;
            }
        }
        assert!(patched > 50 * 60);
    }

    #[test]
    fn fields_fit_the_value_and_the_longest_instruction() {
        for (_, row) in rows() {
            for field in row.fields {
                assert!(field.bits > 0 && field.source + field.bits <= 64);
                assert!(field.destination + field.bits <= 128);
            }
            let patches = matches!(
                row.class,
                Class::Patch | Class::Slot | Class::UnusedClear | Class::Unified { .. }
            );
            assert!(patches || row.fields.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn names_and_numbers_agree() {
        for (kind, row) in rows() {
            assert_eq!(RelocationType::from_name(row.name), Some(kind));
        }
        assert_eq!(rows().count(), 116 + 64);
        assert_eq!(RelocationType(55).name(), Some("R_CUDA_ABS32_32"));
        assert_eq!(RelocationType(115).name(), Some("R_CUDA_CONST_FIELD22_37"));
        assert_eq!(
            RelocationType(0x1003d).name(),
            Some("R_MERCURY_ABS_PROG_REL64")
        );
        assert_eq!(RelocationType(116).row(), None);
        assert_eq!(RelocationType(0x10040).to_string(), "0x10040");
    }

    #[test]
    fn places_outside_the_bytes_are_refused() {
        let row = RelocationType::R_CUDA_ABS32_32.row().unwrap();
        let mut bytes = [0; 16];
        assert_eq!(row.apply(&mut bytes, 8, Target::plain(1)), Ok(()));
        for offset in [9, 16, u64::MAX] {
            assert_eq!(
                row.apply(&mut bytes, offset, Target::plain(1)),
                Err(ApplyError::PastEnd {
                    end: offset.saturating_add(8),
                    available: 16
                })
            );
        }
        let row = RelocationType::R_CUDA_8_56.row().unwrap();
        assert_eq!(row.apply(&mut bytes, 15, Target::plain(0x5a << 56)), Ok(()));
        assert_eq!(bytes[15], 0x5a);
    }

    #[test]
    fn constant_fields_carry_their_bank() {
        let row = RelocationType::R_CUDA_CONST_FIELD19_40.row().unwrap();
        let mut bytes = [0; 16];
        row.apply(&mut bytes, 0, Target::in_bank(3, 0x1c)).unwrap();
        assert_eq!(
            u64::from_le_bytes(bytes[..8].try_into().unwrap()),
            3 << 54 | 7 << 40
        );
        assert_eq!(
            row.apply(&mut bytes, 0, Target::plain(0)),
            Err(ApplyError::NoBank(row.name))
        );
        assert_eq!(
            row.apply(&mut bytes, 0, Target::in_bank(32, 0)),
            Err(ApplyError::BankTooLarge(32))
        );
    }

    /// What nvlink 13.0.88 made of a relocation without an addend against a
    /// constant at 0x1230 in bank 3, and the code that was there before.
    #[test]
    fn fields_without_an_addend_are_added_to() {
        let check = |kind: RelocationType, before: u64, after: u64| {
            let mut bytes = before.to_be_bytes();
            let row = kind.row().unwrap();
            row.resolve(&mut bytes, 0, Target::in_bank(3, 0x1230), None)
                .unwrap();
            assert_eq!(
                format!("{:016x}", u64::from_be_bytes(bytes)),
                format!("{after:016x}"),
                "{kind}"
            );
        };
        check(
            RelocationType::R_CUDA_TEX_SLOT,
            0x0950_66a7_45ad_db6d,
            0x0950_66a7_45ad_db6d,
        );
        check(
            RelocationType::R_CUDA_CONST_FIELD19_28,
            0x140d_0597_a3e6_c8a0,
            0x140d_0557_ecf2_c8a0,
        );
        check(
            RelocationType::R_CUDA_CONST_FIELD21_26,
            0x5aa2_e073_7aa0_fdf5,
            0x5aa2_e033_c3ac_fdf5,
        );
        check(
            RelocationType::R_CUDA_CONST_FIELD19_40,
            0x8242_28ec_9b07_121f,
            0x8242_28ec_9b93_d61f,
        );
        check(
            RelocationType::R_CUDA_8_8,
            0xa2a6_a723_e78f_f5e8,
            0x12a6_a723_e78f_f5e8,
        );
        check(
            RelocationType::R_CUDA_8_24,
            0xd219_3288_3668_8522,
            0x0019_3288_3668_8522,
        );
        check(
            RelocationType::R_CUDA_CONST_FIELD22_37,
            0x2648_6ef7_abba_9551,
            0x2648_6ef7_ab00_5852,
        );
    }

    #[test]
    fn slots_take_the_addend_alone() {
        let row = RelocationType::R_CUDA_TEX_SLOT.row().unwrap();
        let mut bytes = [0xff; 8];
        row.resolve(&mut bytes, 0, Target::plain(0x1230), Some(0x54))
            .unwrap();
        assert_eq!(bytes, [0xff, 0xff, 0xff, 0xff, 0x54, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn kept_types_patch_nothing() {
        let row = RelocationType::R_CUDA_ABS55_16_34.row().unwrap();
        let mut bytes = [0; 16];
        assert_eq!(
            row.apply(&mut bytes, 0, Target::plain(1)),
            Err(ApplyError::NoField(row.name))
        );
    }

    #[test]
    fn unified_types_are_kept_as_plain_ones() {
        let kind = RelocationType::R_CUDA_UNIFIED32_HI_32;
        assert_eq!(
            kind.row().unwrap().against_function(kind),
            FunctionTarget::KeptAs(RelocationType::R_CUDA_ABS32_HI_32)
        );
        for (_, row) in rows() {
            if let Class::Unified { plain } = row.class {
                assert_eq!(plain.row().unwrap().fields, row.fields, "{}", row.name);
            }
        }
    }
}
