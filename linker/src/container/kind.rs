//! Tells what a file is from its first bytes, never from its name.

use std::fmt;

use object::LittleEndian as Le;
use object::elf::{
    DF_1_PIE, DT_FLAGS_1, DT_SONAME, ET_DYN, ET_EXEC, ET_REL, FileHeader32, FileHeader64, PT_INTERP,
};
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _};

use super::host::Class;
use crate::{cubin, fatbin};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InputKind {
    /// A CUDA object or executable.
    Cubin,
    /// A relocatable ELF object of a host machine.
    HostObject,
    /// An ELF program.
    HostExecutable,
    /// An ELF shared library.
    SharedLibrary,
    /// A fatbin, or several one behind the other.
    Fatbin,
    /// An `ar` archive; `.rlib` files are such.
    Archive,
    /// PTX text.
    Ptx,
    /// LTO-IR.
    LtoIr,
    /// What compilers make of host code with `-flto`, and Clang of device code.
    Bitcode,
    /// None of these.
    Unknown,
}

impl fmt::Display for InputKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cubin => "cubin",
            Self::HostObject => "host object",
            Self::HostExecutable => "executable",
            Self::SharedLibrary => "shared library",
            Self::Fatbin => "fatbin",
            Self::Archive => "archive",
            Self::Ptx => "PTX",
            Self::LtoIr => "LTO-IR",
            Self::Bitcode => "LLVM bitcode",
            Self::Unknown => "unknown",
        })
    }
}

/// The first four bytes of an LTO-IR file.
const LTO_IR_MAGIC: &[u8] = &[0xed, 0x43, 0x4e, 0x7f];

/// The first four bytes of LLVM bitcode, bare and in a wrapper.
const BITCODE_MAGICS: [&[u8]; 2] = [b"BC\xc0\xde", &[0xde, 0xc0, 0x17, 0x0b]];

/// Tells what `data` is. The rest of the file may still be damaged.
pub fn detect(data: &[u8]) -> InputKind {
    if data.starts_with(b"\x7fELF") {
        elf(data)
    } else if data.starts_with(&fatbin::MAGIC.to_le_bytes()) {
        InputKind::Fatbin
    } else if data.starts_with(&object::archive::MAGIC)
        || data.starts_with(&object::archive::THIN_MAGIC)
    {
        InputKind::Archive
    } else if data.starts_with(LTO_IR_MAGIC) {
        InputKind::LtoIr
    } else if BITCODE_MAGICS.iter().any(|magic| data.starts_with(magic)) {
        InputKind::Bitcode
    } else if is_ptx(data) {
        InputKind::Ptx
    } else {
        InputKind::Unknown
    }
}

/// The type and machine stand at the same place in every class of ELF.
fn elf(data: &[u8]) -> InputKind {
    let (Some(&order), Some(fields)) = (data.get(5), data.get(16..20)) else {
        return InputKind::Unknown;
    };
    let number = |at: usize| {
        let bytes = [fields[at], fields[at + 1]];
        if order == 2 {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        }
    };
    if number(2) == cubin::EM_CUDA {
        return InputKind::Cubin;
    }
    // The order may be what is damaged.
    let other_way = object::elf::FileType(number(0).swap_bytes());
    match object::elf::FileType(number(0)) {
        ET_REL => InputKind::HostObject,
        ET_EXEC => InputKind::HostExecutable,
        ET_DYN if is_program(data) => InputKind::HostExecutable,
        ET_DYN => InputKind::SharedLibrary,
        _ if order == 2 && other_way == ET_REL => InputKind::HostObject,
        _ => InputKind::Unknown,
    }
}

/// Whether a position-independent file is a program.
fn is_program(data: &[u8]) -> bool {
    let says_so = match Class::of(data) {
        Ok(Class::Narrow) => says_program::<FileHeader32<Le>>(data),
        Ok(Class::Wide) => says_program::<FileHeader64<Le>>(data),
        Err(_) => return false,
    };
    says_so.unwrap_or(false)
}

/// Newer linkers say so, and older ones name an interpreter but no library name.
fn says_program<H: FileHeader<Endian = Le>>(data: &[u8]) -> object::read::Result<bool> {
    let header = H::parse(data)?;
    let (mut interpreter, mut library_name) = (false, false);
    for segment in header.program_headers(Le, data)? {
        interpreter |= segment.p_type(Le) == PT_INTERP;
        for entry in segment.dynamic(Le, data)?.unwrap_or(&[]) {
            match entry.d_tag(Le) {
                DT_FLAGS_1 if entry.d_val(Le).into() & DF_1_PIE.0 != 0 => return Ok(true),
                DT_SONAME => library_name = true,
                _ => {}
            }
        }
    }
    Ok(interpreter && !library_name)
}

/// PTX starts with `.version` behind white space and comments.
fn is_ptx(data: &[u8]) -> bool {
    let mut rest = data;
    loop {
        rest = rest.trim_ascii_start();
        if let Some(comment) = rest.strip_prefix(b"//") {
            let end = comment.iter().position(|b| *b == b'\n');
            rest = &comment[end.unwrap_or(comment.len())..];
        } else if let Some(comment) = rest.strip_prefix(b"/*") {
            let end = comment.windows(2).position(|pair| pair == b"*/");
            rest = end.map_or(&[][..], |end| &comment[end + 2..]);
        } else {
            return rest.starts_with(b".version");
        }
    }
}
