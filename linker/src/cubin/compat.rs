//! `.nv.compat`: what the code asks of a later finalizer or driver, as
//! attribute records. Objects for sm_90 and newer have it.

use super::record::{Record, Records, record_code};

/// What a compatibility record says. Any number is valid; the ones that
/// cuobjdump knows have names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompatCode(pub u8);

/// One record of `.nv.compat`.
pub type CompatRecord<'d> = Record<'d, CompatCode>;

/// The records of one section.
pub type CompatRecords<'d> = Records<'d, CompatCode>;

macro_rules! compat_codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        impl CompatCode {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// The name without `EICOMPAT_ATTR_`, of a known code.
            pub fn short_name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// The code of a name, with or without `EICOMPAT_ATTR_`.
            pub fn from_name(name: &str) -> Option<Self> {
                match name.strip_prefix(Self::PREFIX).unwrap_or(name) {
                    $(stringify!($name) => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

compat_codes! {
    /// Marks an error.
    ERROR = 0x00;
    /// Fills space.
    PAD = 0x01;
    /// Class of the instruction set.
    ISA_CLASS = 0x02;
    /// Uses tensor maps of the first version.
    INST_TENSORMAP_V1 = 0x03;
    /// Superseded by [`Self::INST_TCGEN05_MMA`].
    INST_TCGEN05_MMA_DEPRECATED = 0x04;
    /// Which tensor core instructions of the fifth generation are used.
    INST_TCGEN05_MMA = 0x05;
    /// Whether the driver may finalize again where that helps.
    ENABLE_OPPORTUNISTIC_FINALIZATION = 0x06;
    /// Version of the Mercury instruction set; cuobjdump has no name for it.
    MERCURY_ISA_VERSION = 0x07;
    /// 1 for processors with the letter `a`.
    CUDA_ACCELERATOR_TARGET = 0x09;
    /// Driver version.
    CUDA_DRIVER_VERSION = 0x0a;
    /// Which shortcuts of the finalizer the code allows.
    CAN_FASTPATH_FINALIZE = 0x0b;
    /// A target of NVIDIA's own.
    CUDA_INTERNAL_TARGET = 0x0c;
    /// Version of the instruction set, of compilers since 13.3; cuobjdump has no name for it.
    ISA_VERSION = 0x0d;
    /// Finalizer version.
    FINALIZER_VERSION = 0x0e;
    /// Oldest finalizer that reads the code.
    MIN_FINALIZER_VERSION_FOR_MVC = 0x0f;
}

impl CompatCode {
    /// What cuobjdump prints before every name.
    const PREFIX: &str = "EICOMPAT_ATTR_";
}

record_code!(CompatCode);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_an_sm_100_object() {
        let bytes = [
            2, 9, 0, 0, 2, 2, 1, 0, 2, 5, 5, 0, 3, 7, 1, 1, 2, 3, 0, 0, 2, 6, 1, 0, 4, 0xb, 8, 0,
            9, 0, 0, 0, 0, 0, 0, 0,
        ];
        let records: Vec<_> = CompatRecords::new(&bytes)
            .collect::<Result<_, _>>()
            .unwrap();
        let codes: Vec<_> = records
            .iter()
            .map(|r| r.code.short_name().unwrap())
            .collect();
        assert_eq!(
            codes,
            [
                "CUDA_ACCELERATOR_TARGET",
                "ISA_CLASS",
                "INST_TCGEN05_MMA",
                "MERCURY_ISA_VERSION",
                "INST_TENSORMAP_V1",
                "ENABLE_OPPORTUNISTIC_FINALIZATION",
                "CAN_FASTPATH_FINALIZE",
            ]
        );
        assert_eq!(records[3].number(), 0x101);
        assert_eq!(records[6].words().collect::<Vec<_>>(), [9, 0]);
        let mut encoded = Vec::new();
        records
            .iter()
            .for_each(|record| record.encode(&mut encoded));
        assert_eq!(encoded, bytes);
    }

    #[test]
    fn names_and_codes_agree() {
        for code in (0..=255)
            .map(CompatCode)
            .filter(|c| c.short_name().is_some())
        {
            assert_eq!(CompatCode::from_name(&code.to_string()), Some(code));
        }
        assert_eq!(CompatCode(0x20).to_string(), "0x20");
    }
}
