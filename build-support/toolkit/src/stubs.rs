//! Stubs of the driver's libraries, for machines that only build.
//!
//! Programs that call the driver name its library (`-lcuda`) when they are linked, and find it where they run. NVIDIA's
//! installers put a stub of it into each toolkit, packages do not. A stub is a shared library that has the functions which
//! the toolkit's headers declare, and the name under which programs look for the real one. Its functions do nothing but
//! return the error that says so.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, Sym, Writer};
use object::{Endianness, elf, write};
use tempfile::NamedTempFile;

/// A library that comes with the driver.
struct Stub {
    /// Where it goes in the toolkit.
    file: &'static str,
    /// What programs look for when they start.
    soname: &'static str,
    /// What declares its functions; without the first there is no stub.
    headers: &'static [&'static str],
    /// How the names of its functions begin.
    prefix: &'static str,
    /// What its functions return.
    error: u8,
}

const STUBS: [Stub; 2] = [
    Stub {
        file: "libcuda.so",
        soname: "libcuda.so.1",
        headers: &[
            "cuda.h",
            "cudaGL.h",
            "cudaEGL.h",
            "cudaVDPAU.h",
            "cudaProfiler.h",
        ],
        prefix: "cu",
        // CUDA_ERROR_STUB_LIBRARY
        error: 34,
    },
    Stub {
        file: "libnvidia-ml.so",
        soname: "libnvidia-ml.so.1",
        headers: &["nvml.h"],
        prefix: "nvml",
        // NVML_ERROR_LIBRARY_NOT_FOUND
        error: 12,
    },
];

/// Makes the stubs that the toolkit in this folder lacks, for the machine that this program runs on.
pub(crate) fn complete(root: &Path) -> io::Result<()> {
    let Some(machine) = Machine::of_this_program() else {
        return Ok(());
    };
    let folder = root.join("lib/stubs");
    for stub in &STUBS {
        let place = folder.join(stub.file);
        let headers = stub
            .headers
            .iter()
            .map(|header| root.join("include").join(header));
        let texts: Vec<String> = headers
            .map_while(|path| fs::read_to_string(path).ok())
            .collect();
        if place.exists() || texts.is_empty() {
            continue;
        }
        let names: BTreeSet<String> = texts
            .iter()
            .flat_map(|text| declared(text, stub.prefix))
            .collect();
        fs::create_dir_all(&folder)?;
        let mut file = NamedTempFile::new_in(&folder)?;
        let bytes = library(&machine, stub.soname, &names, stub.error).map_err(io::Error::other)?;
        file.write_all(&bytes)?;
        open_to_all(&file)?;
        file.persist(place)?;
    }
    Ok(())
}

#[cfg(unix)]
fn open_to_all(file: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn open_to_all(_file: &NamedTempFile) -> io::Result<()> {
    Ok(())
}

/// The names of functions in a header: words with a bracket behind them, and what macros make of those.
fn declared(header: &str, prefix: &str) -> Vec<String> {
    let is_name = |word: &&str| {
        let rest = word.strip_prefix(prefix).unwrap_or_default();
        rest.starts_with(|c: char| c.is_ascii_uppercase())
    };
    let mut names = Vec::new();
    for line in header.lines() {
        let is_macro = line.trim_start().starts_with("#define");
        let mut rest = line;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
            rest = &rest[start..];
            let length = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            let (word, behind) = rest.split_at(length);
            rest = behind;
            if is_name(&word) && (is_macro || behind.trim_start().starts_with('(')) {
                names.push(word.to_owned());
                // Functions with a default stream for each thread have names of their own.
                for (of_threads, end) in
                    [("__CUDA_API_PTDS", "_ptds"), ("__CUDA_API_PTSZ", "_ptsz")]
                {
                    if is_macro && line.contains(of_threads) {
                        names.push(format!("{word}{end}"));
                    }
                }
            }
        }
    }
    names
}

/// What depends on the processor of the host.
struct Machine {
    /// `e_machine`.
    number: elf::Machine,
    /// A function that returns a small number.
    returns: fn(u8) -> Vec<u8>,
}

impl Machine {
    fn of_this_program() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self {
                number: elf::EM_X86_64,
                // mov eax, error; ret
                returns: |error| vec![0xb8, error, 0, 0, 0, 0xc3],
            }),
            "aarch64" => Some(Self {
                number: elf::EM_AARCH64,
                // mov w0, error; ret
                returns: |error| {
                    let words = [0x5280_0000 | u32::from(error) << 5, 0xd65f_03c0_u32];
                    words.iter().flat_map(|word| word.to_le_bytes()).collect()
                },
            }),
            _ => None,
        }
    }
}

/// Pages of every machine start at multiples of this.
const PAGE: u64 = 0x1_0000;

/// An ELF shared library whose functions all return an error.
fn library(
    machine: &Machine,
    soname: &str,
    names: &BTreeSet<String>,
    error: u8,
) -> write::Result<Vec<u8>> {
    let text = (machine.returns)(error);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut bytes);

    writer.reserve_null_section_index();
    writer.reserve_hash_section_index();
    writer.reserve_dynsym_section_index();
    writer.reserve_dynstr_section_index();
    let text_name = writer.add_section_name(b".text");
    let text_section = writer.reserve_section_index();
    writer.reserve_dynamic_section_index();
    writer.reserve_shstrtab_section_index();
    let soname = writer.add_dynamic_string(soname.as_bytes());
    writer.reserve_null_dynamic_symbol_index();
    let mut strings = Vec::with_capacity(names.len());
    for name in names {
        writer.reserve_dynamic_symbol_index();
        strings.push(writer.add_dynamic_string(name.as_bytes()));
    }
    let count = writer.dynamic_symbol_count();

    // Everything that is read only lies in one segment at address 0, so that places in the file are addresses.
    writer.reserve_file_header();
    writer.reserve_program_headers(4);
    let hash = writer.reserve_hash(count, count);
    let symbols = writer.reserve_dynsym();
    let strings_at = writer.reserve_dynstr()?;
    let strings_size = u64::from(writer.dynstr_len());
    let text_at = writer.reserve(text.len() as u64, 16);
    let text_end = writer.reserved_len();
    writer.reserve_until(text_end.next_multiple_of(PAGE));
    let entries = [
        (elf::DT_HASH, hash),
        (elf::DT_STRTAB, strings_at),
        (elf::DT_SYMTAB, symbols),
        (elf::DT_STRSZ, strings_size),
        (elf::DT_SYMENT, size_of::<elf::Sym64<Endianness>>() as u64),
        (elf::DT_NULL, 0),
    ];
    let dynamic = writer.reserve_dynamic(1 + entries.len());
    let dynamic_size = writer.reserved_len() - dynamic;
    writer.reserve_shstrtab()?;
    writer.reserve_section_headers();

    writer.write_file_header(&FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_DYN,
        e_machine: machine.number,
        e_entry: 0,
        e_flags: elf::FileFlags::default(),
    })?;
    writer.write_align_program_headers();
    for (kind, flags, at, size, align) in [
        (elf::PT_LOAD, elf::PF_R | elf::PF_X, 0, text_end, PAGE),
        (
            elf::PT_LOAD,
            elf::PF_R | elf::PF_W,
            dynamic,
            dynamic_size,
            PAGE,
        ),
        (
            elf::PT_DYNAMIC,
            elf::PF_R | elf::PF_W,
            dynamic,
            dynamic_size,
            8,
        ),
        // Without it, whoever loads the library gets a stack that code can run on.
        (elf::PT_GNU_STACK, elf::PF_R | elf::PF_W, 0, 0, 16),
    ] {
        writer.write_program_header(&ProgramHeader {
            p_type: kind,
            p_flags: flags,
            p_offset: at,
            p_vaddr: at,
            p_paddr: at,
            p_filesz: size,
            p_memsz: size,
            p_align: align,
        });
    }
    let hashes: Vec<u32> = names
        .iter()
        .map(|name| elf::hash(name.as_bytes()))
        .collect();
    writer.write_hash(count, count, |symbol| {
        hashes.get((symbol as usize).checked_sub(1)?).copied()
    });
    writer.write_null_dynamic_symbol();
    for string in strings {
        let st_name = writer.dynamic_string_offset(Some(string));
        writer.write_dynamic_symbol(&Sym {
            section: Some(text_section.0),
            st_name,
            st_info: elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_FUNC),
            st_other: elf::SymbolOther::default(),
            st_shndx: elf::SymbolSection::default(),
            st_value: text_at,
            st_size: text.len() as u64,
        });
    }
    writer.write_dynstr();
    writer.write_align(16);
    writer.write(&text);
    writer.pad_until(dynamic);
    writer.write_dynamic_string(elf::DT_SONAME, soname)?;
    for (tag, value) in entries {
        writer.write_dynamic(tag, value)?;
    }
    writer.write_shstrtab();

    writer.write_null_section_header();
    writer.write_hash_section_header(hash);
    writer.write_dynsym_section_header(symbols, 1);
    writer.write_dynstr_section_header(strings_at);
    let sh_name = writer.section_name_offset(Some(text_name));
    writer.write_section_header(&SectionHeader {
        sh_name,
        sh_type: elf::SHT_PROGBITS,
        sh_flags: elf::SHF_ALLOC | elf::SHF_EXECINSTR,
        sh_addr: text_at,
        sh_offset: text_at,
        sh_size: text.len() as u64,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 16,
        sh_entsize: 0,
    });
    writer.write_dynamic_section_header(dynamic);
    writer.write_shstrtab_section_header();
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::read::elf::{FileHeader as _, ProgramHeader as _};
    use std::process::Command;

    const HEADER: &str = "\
#define cuMemAlloc cuMemAlloc_v2
#define cuMemcpy   __CUDA_API_PTDS(cuMemcpy)
    #define cuLaunchKernel __CUDA_API_PTSZ(cuLaunchKernel)
typedef unsigned cuuint32_t;
CUresult CUDAAPI cuInit(unsigned int Flags);
CUresult CUDAAPI cuMemAlloc(CUdeviceptr *dptr, size_t bytes);
/** see cuMemFree */
";

    #[test]
    fn names_are_those_that_headers_declare() {
        let names: BTreeSet<String> = declared(HEADER, "cu").into_iter().collect();
        let expected = [
            "cuInit",
            "cuLaunchKernel",
            "cuLaunchKernel_ptsz",
            "cuMemAlloc",
            "cuMemAlloc_v2",
            "cuMemcpy",
            "cuMemcpy_ptds",
        ];
        assert_eq!(
            names.iter().map(String::as_str).collect::<Vec<_>>(),
            expected
        );
        let names = declared("nvmlReturn_t DECLDIR nvmlInit_v2(void);", "nvml");
        assert_eq!(names, ["nvmlInit_v2"]);
    }

    #[test]
    fn programs_link_with_a_stub_and_look_for_the_driver() {
        let root = tempfile::tempdir().expect("a scratch folder can be made");
        let include = root.path().join("include");
        fs::create_dir(&include).expect("the scratch folder is writable");
        fs::write(include.join("cuda.h"), HEADER).expect("the scratch folder is writable");
        complete(root.path()).expect("the scratch folder is writable");
        let folder = root.path().join("lib/stubs");
        assert!(!folder.join("libnvidia-ml.so").exists());
        let bytes = fs::read(folder.join("libcuda.so")).expect("it was made");
        let header = elf::FileHeader64::<Endianness>::parse(&*bytes).expect("it is ELF");
        let segments = header
            .program_headers(Endianness::Little, &*bytes)
            .expect("it has segments");
        let stack = segments
            .iter()
            .find(|segment| segment.p_type(Endianness::Little) == elf::PT_GNU_STACK);
        let flags = stack.map(|stack| stack.p_flags(Endianness::Little));
        assert_eq!(flags, Some(elf::PF_R | elf::PF_W));

        let source = root.path().join("main.c");
        let text = "int cuInit(unsigned), cuMemcpy_ptds(void);\nint main(void) { return cuInit(0) + cuMemcpy_ptds(); }\n";
        fs::write(&source, text).expect("the scratch folder is writable");
        let program = root.path().join("main");
        let mut command = Command::new("cc");
        command
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(&folder)
            .arg("-lcuda");
        let Ok(linked) = command.output() else {
            return; // no compiler here
        };
        assert!(
            linked.status.success(),
            "{}",
            String::from_utf8_lossy(&linked.stderr)
        );
        let bytes = fs::read(&program).expect("it was linked");
        let soname = b"libcuda.so.1\0";
        assert!(bytes.windows(soname.len()).any(|window| window == soname));

        // It loads, too, and says what it is.
        fs::rename(folder.join("libcuda.so"), folder.join("libcuda.so.1")).expect("it is there");
        let ran = Command::new(&program)
            .env("LD_LIBRARY_PATH", &folder)
            .status()
            .expect("it was linked");
        assert_eq!(ran.code(), Some(68));
    }
}
