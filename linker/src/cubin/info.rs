//! `.nv.info*`: what a function or a module needs of the hardware and the
//! driver, as attribute records.
//!
//! [`InfoRecord`] leaves the payload as bytes; [`super::Attribute`] takes it
//! apart.

use super::record::{Record, Records, record_code};

/// What an info record says. Any number is valid; the known ones have names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InfoCode(pub u8);

/// One record of `.nv.info*` or `.nv.merc.nv.info*`.
pub type InfoRecord<'d> = Record<'d, InfoCode>;

/// The records of one section.
pub type InfoRecords<'d> = Records<'d, InfoCode>;

macro_rules! info_codes {
    ($($number:literal $name:ident;)*) => {
        #[expect(missing_docs, reason = "the name is all that is known of many codes")]
        impl InfoCode {
            $(pub const $name: Self = Self($number);)*
        }

        /// The names without `EIATTR_`, in order of their codes.
        const NAMES: [&str; [$($number),*].len()] = [$(stringify!($name)),*];
    };
}

info_codes! {
    0x00 ERROR;
    0x01 PAD;
    0x02 IMAGE_SLOT;
    0x03 JUMPTABLE_RELOCS;
    0x04 CTAIDZ_USED;
    0x05 MAX_THREADS;
    0x06 IMAGE_OFFSET;
    0x07 IMAGE_SIZE;
    0x08 TEXTURE_NORMALIZED;
    0x09 SAMPLER_INIT;
    0x0a PARAM_CBANK;
    0x0b SMEM_PARAM_OFFSETS;
    0x0c CBANK_PARAM_OFFSETS;
    0x0d SYNC_STACK;
    0x0e TEXID_SAMPID_MAP;
    0x0f EXTERNS;
    0x10 REQNTID;
    0x11 FRAME_SIZE;
    0x12 MIN_STACK_SIZE;
    0x13 SAMPLER_FORCE_UNNORMALIZED;
    0x14 BINDLESS_IMAGE_OFFSETS;
    0x15 BINDLESS_TEXTURE_BANK;
    0x16 BINDLESS_SURFACE_BANK;
    0x17 KPARAM_INFO;
    0x18 SMEM_PARAM_SIZE;
    0x19 CBANK_PARAM_SIZE;
    0x1a QUERY_NUMATTRIB;
    0x1b MAXREG_COUNT;
    0x1c EXIT_INSTR_OFFSETS;
    0x1d S2RCTAID_INSTR_OFFSETS;
    0x1e CRS_STACK_SIZE;
    0x1f NEED_CNP_WRAPPER;
    0x20 NEED_CNP_PATCH;
    0x21 EXPLICIT_CACHING;
    0x22 ISTYPEP_USED;
    0x23 MAX_STACK_SIZE;
    0x24 SUQ_USED;
    0x25 LD_CACHEMOD_INSTR_OFFSETS;
    0x26 LOAD_CACHE_REQUEST;
    0x27 ATOM_SYS_INSTR_OFFSETS;
    0x28 COOP_GROUP_INSTR_OFFSETS;
    0x29 COOP_GROUP_MASK_REGIDS;
    0x2a SW1850030_WAR;
    0x2b WMMA_USED;
    0x2c HAS_PRE_V10_OBJECT;
    0x2d ATOMF16_EMUL_INSTR_OFFSETS;
    0x2e ATOM16_EMUL_INSTR_REG_MAP;
    0x2f REGCOUNT;
    0x30 SW2393858_WAR;
    0x31 INT_WARP_WIDE_INSTR_OFFSETS;
    0x32 SHARED_SCRATCH;
    0x33 STATISTICS;
    0x34 INDIRECT_BRANCH_TARGETS;
    0x35 SW2861232_WAR;
    0x36 SW_WAR;
    0x37 CUDA_API_VERSION;
    0x38 NUM_MBARRIERS;
    0x39 MBARRIER_INSTR_OFFSETS;
    0x3a COROUTINE_RESUME_ID_OFFSETS;
    0x3b SAM_REGION_STACK_SIZE;
    0x3c PER_REG_TARGET_PERF_STATS;
    0x3d CTA_PER_CLUSTER;
    0x3e EXPLICIT_CLUSTER;
    0x3f MAX_CLUSTER_RANK;
    0x40 INSTR_REG_MAP;
    0x41 RESERVED_SMEM_USED;
    0x42 RESERVED_SMEM_0_SIZE;
    0x43 UCODE_SECTION_DATA;
    0x44 UNUSED_LOAD_BYTE_OFFSET;
    0x45 KPARAM_INFO_V2;
    0x46 SYSCALL_OFFSETS;
    0x47 SW_WAR_MEMBAR_SYS_INSTR_OFFSETS;
    0x48 GRAPHICS_GLOBAL_CBANK;
    0x49 SHADER_TYPE;
    0x4a VRC_CTA_INIT_COUNT;
    0x4b TOOLS_PATCH_FUNC;
    0x4c NUM_BARRIERS;
    0x4d TEXMODE_INDEPENDENT;
    0x4e PERF_STATISTICS;
    0x4f AT_ENTRY_FRAGMENTS;
    0x50 SPARSE_MMA_MASK;
    0x51 TCGEN05_1CTA_USED;
    0x52 TCGEN05_2CTA_USED;
    0x53 GEN_ERRBAR_AT_EXIT;
    0x54 REG_RECONFIG;
    0x55 ANNOTATIONS;
    0x56 UNKNOWN;
    0x57 STACK_CANARY_TRAP_OFFSETS;
    0x58 STUB_FUNCTION_KIND;
    0x59 LOCAL_CTA_ASYNC_STORE_OFFSETS;
    0x5a MERCURY_FINALIZER_OPTIONS;
    0x5b BLOCKS_ARE_CLUSTERS;
    0x5c SANITIZE;
    0x5d SYSCALLS_FALLBACK;
    0x5e CUDA_REQ;
    0x5f MERCURY_ISA_VERSION;
    0x60 ERROR_LAST;
}

impl InfoCode {
    /// What cuobjdump prints before every name.
    const PREFIX: &str = "EIATTR_";

    /// The name without `EIATTR_`, of a code the 13.0 tools know.
    pub fn short_name(self) -> Option<&'static str> {
        NAMES.get(usize::from(self.0)).copied()
    }

    /// The code of a name, with or without `EIATTR_`.
    pub fn from_name(name: &str) -> Option<Self> {
        let short = name.strip_prefix(Self::PREFIX).unwrap_or(name);
        let index = NAMES.iter().position(|known| *known == short)?;
        Some(Self(index as u8))
    }

    /// Whether the record lists offsets of instructions and nothing else.
    pub(crate) fn lists_offsets(self) -> bool {
        matches!(
            self,
            Self::EXIT_INSTR_OFFSETS
                | Self::S2RCTAID_INSTR_OFFSETS
                | Self::LD_CACHEMOD_INSTR_OFFSETS
                | Self::ATOM_SYS_INSTR_OFFSETS
                | Self::COOP_GROUP_INSTR_OFFSETS
                | Self::ATOMF16_EMUL_INSTR_OFFSETS
                | Self::INT_WARP_WIDE_INSTR_OFFSETS
                | Self::SYSCALL_OFFSETS
                | Self::SW_WAR_MEMBAR_SYS_INSTR_OFFSETS
                | Self::STACK_CANARY_TRAP_OFFSETS
                | Self::LOCAL_CTA_ASYNC_STORE_OFFSETS
        )
    }

    /// Whether the payload begins with a symbol's index. A link rewrites it.
    pub fn begins_with_symbol(self) -> bool {
        matches!(
            self,
            Self::IMAGE_SLOT
                | Self::IMAGE_OFFSET
                | Self::IMAGE_SIZE
                | Self::TEXTURE_NORMALIZED
                | Self::SAMPLER_INIT
                | Self::PARAM_CBANK
                | Self::FRAME_SIZE
                | Self::MIN_STACK_SIZE
                | Self::SAMPLER_FORCE_UNNORMALIZED
                | Self::BINDLESS_IMAGE_OFFSETS
                | Self::KPARAM_INFO
                | Self::MAX_STACK_SIZE
                | Self::LOAD_CACHE_REQUEST
                | Self::REGCOUNT
                | Self::SAM_REGION_STACK_SIZE
                | Self::KPARAM_INFO_V2
        )
    }
}

record_code!(InfoCode);

impl<'d> Record<'d, InfoCode> {
    /// The symbol index at the start of the payload, for codes that have one.
    pub fn symbol(&self) -> Option<u32> {
        if self.code.begins_with_symbol() {
            self.word(0)
        } else {
            None
        }
    }

    /// The symbols of an `EXTERNS` record, none for other records.
    pub fn externs(&self) -> impl Iterator<Item = u32> + use<'d> {
        let words = self.words();
        let count = if self.code == InfoCode::EXTERNS {
            words.len()
        } else {
            0
        };
        words.take(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_agree() {
        assert_eq!(NAMES.len(), 97);
        for (index, name) in NAMES.iter().enumerate() {
            let code = InfoCode(index as u8);
            assert_eq!(code.short_name(), Some(*name));
            assert_eq!(InfoCode::from_name(&code.to_string()), Some(code));
        }
        assert_eq!(InfoCode::REGCOUNT, InfoCode(0x2f));
        assert_eq!(InfoCode::NUM_BARRIERS.to_string(), "EIATTR_NUM_BARRIERS");
        assert_eq!(InfoCode(0x61).to_string(), "0x61");
    }

    #[test]
    fn symbols_of_records() {
        let payload = [22, 0, 0, 0, 24, 0, 0, 0];
        let record = InfoRecord::sized(InfoCode::REGCOUNT, &payload).unwrap();
        assert_eq!(record.symbol(), Some(22));
        assert_eq!(record.externs().count(), 0);
        let record = InfoRecord::sized(InfoCode::EXTERNS, &payload).unwrap();
        assert_eq!(record.symbol(), None);
        assert_eq!(record.externs().collect::<Vec<_>>(), [22, 24]);
        let record = InfoRecord::sized(InfoCode::REGCOUNT, &payload[..3]).unwrap();
        assert_eq!(record.symbol(), None);
    }
}
