//! The payload of an info record, taken apart.
//!
//! [`Attribute::decode`] names the fields of the records that real objects
//! hold; a payload of any other code or length stays as bytes, so that
//! [`Attribute::encode`] always gives back what was read.

use super::record::Format;
use super::{InfoCode, InfoRecord};

/// What one info record says. `'d` is the bytes it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute<'d> {
    /// A record without a value: its presence is the message.
    Present,
    /// A value of one or two bytes; the code says of what.
    Number(u16),
    /// Registers of a function (`REGCOUNT`).
    Registers {
        /// Symbol of the function.
        function: u32,
        /// Registers per thread.
        count: u32,
    },
    /// Bytes of stack (`FRAME_SIZE`, `MIN_STACK_SIZE`, `MAX_STACK_SIZE`,
    /// `SAM_REGION_STACK_SIZE`).
    Stack {
        /// Symbol of the function.
        function: u32,
        /// Size; all ones if it cannot be known.
        bytes: u32,
    },
    /// Where a kernel's parameters lie in its constant bank (`PARAM_CBANK`).
    ParameterBank {
        /// Symbol of the bank's section.
        bank: u32,
        /// Offset of the first parameter.
        offset: u16,
        /// Size of all parameters.
        size: u16,
    },
    /// One kernel parameter (`KPARAM_INFO`).
    Parameter(Parameter),
    /// One kernel parameter (`KPARAM_INFO_V2`).
    ParameterV2(ParameterV2),
    /// Three extents (`MAX_THREADS`, `REQNTID`, `CTA_PER_CLUSTER`).
    Extents([u32; 3]),
    /// Symbols of functions defined elsewhere (`EXTERNS`).
    Externs(Vec<u32>),
    /// One word (`CRS_STACK_SIZE`, `CUDA_API_VERSION`, `SW_WAR`,
    /// `MAX_CLUSTER_RANK`).
    Word(u32),
    /// Offsets of instructions in the function's code.
    Offsets(Vec<u32>),
    /// Branches through a table (`INDIRECT_BRANCH_TARGETS`).
    IndirectBranches(Vec<IndirectBranch>),
    /// Any other payload.
    Bytes(&'d [u8]),
}

/// A kernel parameter, as `KPARAM_INFO` describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Zero in every object seen.
    pub index: u32,
    /// Position among the parameters.
    pub ordinal: u16,
    /// Offset from the first parameter.
    pub offset: u16,
    /// Logarithm of what a pointer's target is aligned to.
    pub log_alignment: u8,
    /// Memory space of a pointer's target, four bits.
    pub space: u8,
    /// Constant bank, five bits; 31 stands for the bank of the launch.
    pub bank: u8,
    /// Whether the parameter is passed in shared memory.
    pub in_shared_memory: bool,
    /// Size in bytes, fourteen bits.
    pub size: u16,
}

/// A kernel parameter, as `KPARAM_INFO_V2` describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterV2 {
    /// Zero in every object seen.
    pub index: u32,
    /// Position among the parameters.
    pub ordinal: u16,
    /// Offset from the first parameter.
    pub offset: u16,
    /// Size in bytes.
    pub size: u16,
    /// Logarithm of what a pointer's target is aligned to.
    pub log_alignment: u8,
    /// Memory space of a pointer's target.
    pub space: u8,
}

/// A branch whose targets stand in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndirectBranch {
    /// Offset of the branch in the function's code.
    pub offset: u32,
    /// Zero in every object seen.
    pub reserved: u32,
    /// Offsets it may branch to.
    pub targets: Vec<u32>,
}

impl Parameter {
    fn unpack([index, place, rest]: [u32; 3]) -> Self {
        Self {
            index,
            ordinal: place as u16,
            offset: (place >> 16) as u16,
            log_alignment: rest as u8,
            space: (rest >> 8 & 0xf) as u8,
            bank: (rest >> 12 & 0x1f) as u8,
            in_shared_memory: rest >> 17 & 1 == 1,
            size: (rest >> 18) as u16,
        }
    }

    fn pack(self) -> [u32; 3] {
        let rest = u32::from(self.log_alignment)
            | u32::from(self.space & 0xf) << 8
            | u32::from(self.bank & 0x1f) << 12
            | u32::from(self.in_shared_memory) << 17
            | u32::from(self.size & 0x3fff) << 18;
        [self.index, halves(self.ordinal, self.offset), rest]
    }
}

impl ParameterV2 {
    fn unpack([index, place, rest]: [u32; 3]) -> Self {
        Self {
            index,
            ordinal: place as u16,
            offset: (place >> 16) as u16,
            size: rest as u16,
            log_alignment: (rest >> 16) as u8,
            space: (rest >> 24) as u8,
        }
    }

    fn pack(self) -> [u32; 3] {
        let high = u16::from_le_bytes([self.log_alignment, self.space]);
        [
            self.index,
            halves(self.ordinal, self.offset),
            halves(self.size, high),
        ]
    }
}

impl<'d> Attribute<'d> {
    /// Takes a record apart.
    pub fn decode(record: &InfoRecord<'d>) -> Self {
        match record.format {
            Format::NoValue => return Self::Present,
            Format::Byte | Format::Half => return Self::Number(record.number()),
            Format::Sized => {}
        }
        if !record.payload.len().is_multiple_of(4) {
            return Self::Bytes(record.payload);
        }
        let words: Vec<u32> = record.words().collect();
        Self::from_words(record.code, words).unwrap_or(Self::Bytes(record.payload))
    }

    fn from_words(code: InfoCode, words: Vec<u32>) -> Option<Self> {
        Some(match (code, &words[..]) {
            (InfoCode::REGCOUNT, &[function, count]) => Self::Registers { function, count },
            (
                InfoCode::FRAME_SIZE
                | InfoCode::MIN_STACK_SIZE
                | InfoCode::MAX_STACK_SIZE
                | InfoCode::SAM_REGION_STACK_SIZE,
                &[function, bytes],
            ) => Self::Stack { function, bytes },
            (InfoCode::PARAM_CBANK, &[bank, place]) => Self::ParameterBank {
                bank,
                offset: place as u16,
                size: (place >> 16) as u16,
            },
            (InfoCode::KPARAM_INFO, &[a, b, c]) => Self::Parameter(Parameter::unpack([a, b, c])),
            (InfoCode::KPARAM_INFO_V2, &[a, b, c]) => {
                Self::ParameterV2(ParameterV2::unpack([a, b, c]))
            }
            (InfoCode::MAX_THREADS | InfoCode::REQNTID | InfoCode::CTA_PER_CLUSTER, &[x, y, z]) => {
                Self::Extents([x, y, z])
            }
            (InfoCode::EXTERNS, _) => Self::Externs(words),
            (
                InfoCode::CRS_STACK_SIZE
                | InfoCode::CUDA_API_VERSION
                | InfoCode::SW_WAR
                | InfoCode::MAX_CLUSTER_RANK,
                &[word],
            ) => Self::Word(word),
            (code, _) if code.lists_offsets() => Self::Offsets(words),
            (InfoCode::INDIRECT_BRANCH_TARGETS, words) => {
                Self::IndirectBranches(IndirectBranch::unpack(words)?)
            }
            _ => return None,
        })
    }

    /// The payload of a sized record; empty for the other formats.
    pub fn encode(&self) -> Vec<u8> {
        let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect();
        match self {
            Self::Present | Self::Number(_) => Vec::new(),
            Self::Registers { function, count } => bytes(&[*function, *count]),
            Self::Stack {
                function,
                bytes: size,
            } => bytes(&[*function, *size]),
            Self::ParameterBank { bank, offset, size } => bytes(&[*bank, halves(*offset, *size)]),
            Self::Parameter(parameter) => bytes(&parameter.pack()),
            Self::ParameterV2(parameter) => bytes(&parameter.pack()),
            Self::Extents(words) => bytes(words),
            Self::Word(word) => bytes(&[*word]),
            Self::Externs(words) | Self::Offsets(words) => bytes(words),
            Self::IndirectBranches(branches) => bytes(
                &branches
                    .iter()
                    .flat_map(IndirectBranch::pack)
                    .collect::<Vec<_>>(),
            ),
            Self::Bytes(bytes) => bytes.to_vec(),
        }
    }
}

impl IndirectBranch {
    /// The branches of a record, as far as they are there.
    pub(crate) fn listed(mut words: impl Iterator<Item = u32>) -> Vec<Self> {
        let mut branches = Vec::new();
        while let (Some(offset), Some(reserved), Some(count)) =
            (words.next(), words.next(), words.next())
        {
            branches.push(Self {
                offset,
                reserved,
                targets: words.by_ref().take(count as usize).collect(),
            });
        }
        branches
    }

    /// All branches of a record, or `None` if the counts do not add up.
    fn unpack(words: &[u32]) -> Option<Vec<Self>> {
        let branches = Self::listed(words.iter().copied());
        let packed = branches.iter().flat_map(Self::pack);
        packed.eq(words.iter().copied()).then_some(branches)
    }

    fn pack(&self) -> impl Iterator<Item = u32> {
        let head = [self.offset, self.reserved, self.targets.len() as u32];
        head.into_iter().chain(self.targets.iter().copied())
    }
}

fn halves(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: InfoCode, words: &[u32], expected: Attribute<'_>) {
        let payload: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let record = InfoRecord::sized(code, &payload).unwrap();
        let attribute = Attribute::decode(&record);
        assert_eq!(attribute, expected);
        assert_eq!(attribute.encode(), payload);
    }

    #[test]
    fn payloads_of_real_objects() {
        check(
            InfoCode::KPARAM_INFO,
            &[0, 0x0008_0001, 0x0011_f000],
            Attribute::Parameter(Parameter {
                index: 0,
                ordinal: 1,
                offset: 8,
                log_alignment: 0,
                space: 0,
                bank: 31,
                in_shared_memory: false,
                size: 4,
            }),
        );
        check(
            InfoCode::KPARAM_INFO_V2,
            &[0, 0x0008_0001, 0x0503_0010],
            Attribute::ParameterV2(ParameterV2 {
                index: 0,
                ordinal: 1,
                offset: 8,
                size: 16,
                log_alignment: 3,
                space: 5,
            }),
        );
        check(
            InfoCode::PARAM_CBANK,
            &[9, 0x000c_0160],
            Attribute::ParameterBank {
                bank: 9,
                offset: 0x160,
                size: 12,
            },
        );
        check(
            InfoCode::REGCOUNT,
            &[14, 24],
            Attribute::Registers {
                function: 14,
                count: 24,
            },
        );
        check(
            InfoCode::MIN_STACK_SIZE,
            &[14, u32::MAX],
            Attribute::Stack {
                function: 14,
                bytes: u32::MAX,
            },
        );
        check(
            InfoCode::REQNTID,
            &[64, 1, 1],
            Attribute::Extents([64, 1, 1]),
        );
        check(
            InfoCode::EXTERNS,
            &[26, 27],
            Attribute::Externs(vec![26, 27]),
        );
        check(InfoCode::CUDA_API_VERSION, &[130], Attribute::Word(130));
        check(
            InfoCode::EXIT_INSTR_OFFSETS,
            &[0x2a0],
            Attribute::Offsets(vec![0x2a0]),
        );
        check(
            InfoCode::INDIRECT_BRANCH_TARGETS,
            &[0x70, 0, 2, 0x80, 0xa0, 0x100, 0, 0],
            Attribute::IndirectBranches(vec![
                IndirectBranch {
                    offset: 0x70,
                    reserved: 0,
                    targets: vec![0x80, 0xa0],
                },
                IndirectBranch {
                    offset: 0x100,
                    reserved: 0,
                    targets: Vec::new(),
                },
            ]),
        );
    }

    #[test]
    fn odd_payloads_stay_bytes() {
        let odd: [(InfoCode, &[u8]); 4] = [
            (InfoCode::REGCOUNT, &[1, 0, 0, 0]),
            (InfoCode::EXTERNS, &[1, 0, 0]),
            (
                InfoCode::INDIRECT_BRANCH_TARGETS,
                &[0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff],
            ),
            (InfoCode(0x80), &[1, 2, 3, 4]),
        ];
        for (code, payload) in odd {
            let record = InfoRecord::sized(code, payload).unwrap();
            let attribute = Attribute::decode(&record);
            assert_eq!(attribute, Attribute::Bytes(payload));
            assert_eq!(attribute.encode(), payload);
        }
    }

    #[test]
    fn every_bit_of_a_parameter_survives() {
        for bit in 0..32 {
            let words = [1 << bit, 1 << bit, 1 << bit];
            assert_eq!(Parameter::unpack(words).pack(), words);
            assert_eq!(ParameterV2::unpack(words).pack(), words);
        }
    }

    #[test]
    fn small_formats() {
        let decode = |record| Attribute::decode(&record);
        assert_eq!(
            decode(InfoRecord::no_value(InfoCode::CTAIDZ_USED)),
            Attribute::Present
        );
        assert_eq!(
            decode(InfoRecord::byte(InfoCode::NUM_BARRIERS, 3)),
            Attribute::Number(3)
        );
        assert_eq!(
            decode(InfoRecord::half(InfoCode::MAXREG_COUNT, 255)),
            Attribute::Number(255)
        );
    }
}
