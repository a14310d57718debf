//! `e_ident` and `e_flags`: which generation of tools made an object, and for
//! which processor.

use super::{Sm, Suffix};

/// The two layouts of device objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Abi {
    /// ABI version 7: CUDA 12 and older, up to sm_90. Objects have no notes
    /// and count barriers in the flags of code.
    V7,
    /// ABI version 8: CUDA 13, and CUDA 12 from sm_100 on.
    V8,
}

impl Abi {
    /// `EI_OSABI` of version 8.
    pub const NEW_OS_ABI: u8 = 0x41;

    /// The layout that `EI_OSABI` stands for; anything but version 8's is
    /// version 7.
    pub fn of_os_abi(os_abi: u8) -> Self {
        match os_abi {
            Self::NEW_OS_ABI => Self::V8,
            _ => Self::V7,
        }
    }

    /// `EI_ABIVERSION`.
    pub fn version(self) -> u8 {
        match self {
            Self::V7 => 7,
            Self::V8 => 8,
        }
    }
}

/// `e_flags` of ABI version 8, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileFlags {
    /// Section number of `.note.nv.cuinfo`, or [`FileFlags::BY_NAME`]. Of larger ones than 255, files from sm_100 on have the low
    /// eight bits.
    pub device_note: u8,
    /// Zero in every file of the tools.
    pub reserved: u8,
    /// The processor number.
    pub sm: u8,
    /// 4 up to sm_90, 2 from sm_100 on: the mark of 64-bit addresses. In
    /// files of CUDA 12, [`FileFlags::ACCELERATED`] stands beside it.
    pub address_mark: u8,
}

impl FileFlags {
    /// In [`FileFlags::address_mark`]: the letter of the processor is `a`.
    /// CUDA 13 says so in `.nv.compat` alone.
    pub const ACCELERATED: u8 = 8;

    /// In [`FileFlags::device_note`]: the name of the section tells, not its number.
    pub const BY_NAME: u8 = u8::MAX;

    /// The flags of a file for `sm` whose device note is the given section.
    pub fn new(sm: Sm, device_note: u32) -> Self {
        let known = match sm.has_mercury() {
            true => device_note as u8,
            false => u8::try_from(device_note).unwrap_or(Self::BY_NAME),
        };
        Self {
            device_note: known,
            reserved: 0,
            sm: sm.number as u8,
            address_mark: if sm.has_mercury() { 2 } else { 4 },
        }
    }

    /// Takes `e_flags` apart. Nothing is lost.
    pub fn decode(flags: u32) -> Self {
        let [address_mark, sm, reserved, device_note] = flags.to_le_bytes();
        Self {
            device_note,
            reserved,
            sm,
            address_mark,
        }
    }

    /// The word as the file header holds it.
    pub fn encode(self) -> u32 {
        u32::from_le_bytes([self.address_mark, self.sm, self.reserved, self.device_note])
    }

    /// The processor, as far as the flags tell.
    pub fn sm(self) -> Sm {
        processor(self.sm, self.address_mark & Self::ACCELERATED != 0)
    }
}

/// `e_flags` of ABI version 7, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OldFileFlags {
    /// The processor number.
    pub sm: u8,
    /// Addresses have 64 bits.
    pub is_wide: bool,
    /// The letter of the processor is `a`.
    pub is_accelerated: bool,
    /// The number of the virtual processor.
    pub virtual_sm: u8,
}

impl OldFileFlags {
    /// Takes `e_flags` apart.
    pub fn decode(flags: u32) -> Self {
        let [sm, marks, virtual_sm, _] = flags.to_le_bytes();
        Self {
            sm,
            is_wide: marks & 4 != 0,
            is_accelerated: marks & 8 != 0,
            virtual_sm,
        }
    }

    /// The processor.
    pub fn sm(self) -> Sm {
        processor(self.sm, self.is_accelerated)
    }
}

fn processor(number: u8, is_accelerated: bool) -> Sm {
    Sm {
        number: number.into(),
        suffix: is_accelerated.then_some(Suffix::A),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_measured_files() {
        for (flags, sm, note) in [
            (0x0600_4b04, 75, 6),
            (0x0600_5a04, 90, 6),
            (0x0700_7802, 120, 7),
            (0xff00_5a04, 90, 0x108),
            (0x0800_6402, 100, 0x108),
        ] {
            let decoded = FileFlags::decode(flags);
            assert_eq!(decoded.sm(), Sm::new(sm));
            assert_eq!(FileFlags::new(Sm::new(sm), note), decoded);
            assert_eq!(decoded.encode(), flags);
        }
        assert_eq!(FileFlags::decode(0x1234_5678).encode(), 0x1234_5678);
        assert_eq!(FileFlags::decode(0x0600_640a).sm().to_string(), "sm_100a");
    }

    #[test]
    fn flags_of_older_files() {
        for (flags, sm, virtual_sm) in [
            (0x004b_054b, "sm_75", 75),
            (0x005a_055a, "sm_90", 90),
            (0x0050_0d5a, "sm_90a", 80),
        ] {
            let decoded = OldFileFlags::decode(flags);
            assert_eq!(decoded.sm().to_string(), sm);
            assert_eq!(decoded.virtual_sm, virtual_sm);
            assert!(decoded.is_wide);
        }
        assert!(!OldFileFlags::decode(0x0050_0150).is_wide);
    }
}
