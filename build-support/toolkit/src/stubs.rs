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
        file.write_all(&library(&machine, stub.soname, &names, stub.error))?;
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
    number: u16,
    /// A function that returns a small number.
    returns: fn(u8) -> Vec<u8>,
}

impl Machine {
    fn of_this_program() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self {
                number: 62,
                // mov eax, error; ret
                returns: |error| vec![0xb8, error, 0, 0, 0, 0xc3],
            }),
            "aarch64" => Some(Self {
                number: 183,
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
/// The sizes of the headers and entries of ELF.
const FILE_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const SECTION_HEADER: u64 = 64;
const SYMBOL: u64 = 24;
/// The number of the section with the one function.
const TEXT: u16 = 4;

/// An ELF shared library whose functions all return an error.
fn library(machine: &Machine, soname: &str, names: &BTreeSet<String>, error: u8) -> Vec<u8> {
    let text = (machine.returns)(error);
    let mut strings = vec![0];
    let mut add = |name: &str| {
        let place = strings.len() as u64;
        strings.extend(name.bytes());
        strings.push(0);
        place
    };
    let soname = add(soname);
    let places: Vec<u64> = names.iter().map(|name| add(name)).collect();

    // Everything that is read only lies in one segment at address 0, so that places in the file are addresses.
    let count = names.len() as u64 + 1;
    let hash = FILE_HEADER + 3 * PROGRAM_HEADER;
    let hash_size = 4 * (2 + 1 + count);
    let symbols = (hash + hash_size).next_multiple_of(8);
    let strings_at = symbols + count * SYMBOL;
    let text_at = (strings_at + strings.len() as u64).next_multiple_of(16);
    let text_end = text_at + text.len() as u64;
    let dynamic = text_end.next_multiple_of(PAGE);
    let entries = [
        (14, soname),
        (4, hash),
        (5, strings_at),
        (6, symbols),
        (10, strings.len() as u64),
        (11, SYMBOL),
        (0, 0),
    ];
    let dynamic_size = entries.len() as u64 * 16;
    let section_names = b"\0.hash\0.dynsym\0.dynstr\0.text\0.dynamic\0.shstrtab\0";
    let names_at = dynamic + dynamic_size;
    let headers = (names_at + section_names.len() as u64).next_multiple_of(8);

    let mut out = Image::default();
    out.bytes(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    out.halves(&[3, machine.number])
        .words(&[1])
        .longs(&[0, FILE_HEADER, headers])
        .words(&[0]);
    out.halves(&[64, 56, 3, 64, 7, 6]);
    for (kind, flags, at, size, align) in [
        (1, 5, 0, text_end, PAGE),
        (1, 6, dynamic, dynamic_size, PAGE),
        (2, 6, dynamic, dynamic_size, 8),
    ] {
        out.words(&[kind, flags])
            .longs(&[at, at, at, size, size, align]);
    }

    // One bucket: nobody looks names up in a stub but linkers, which read the table from its start.
    let chain = (2..count).chain([0]).map(|next| next as u32);
    let chain: Vec<u32> = [0].into_iter().chain(chain).take(count as usize).collect();
    out.words(&[1, count as u32, u32::from(count > 1)])
        .words(&chain);
    out.pad(symbols).bytes(&[0; SYMBOL as usize]);
    for &place in &places {
        // A global function.
        out.words(&[place as u32])
            .bytes(&[0x12, 0])
            .halves(&[TEXT])
            .longs(&[text_at, text.len() as u64]);
    }
    out.bytes(&strings).pad(text_at).bytes(&text).pad(dynamic);
    for (tag, value) in entries {
        out.longs(&[tag, value]);
    }
    out.bytes(section_names).pad(headers);

    // Name, type, flags, place, size, link, info, alignment, size of an entry.
    let sections = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 5, 2, hash, hash_size, 2, 0, 8, 4),
        (7, 11, 2, symbols, count * SYMBOL, 3, 1, 8, SYMBOL),
        (15, 3, 2, strings_at, strings.len() as u64, 0, 0, 1, 0),
        (23, 1, 6, text_at, text.len() as u64, 0, 0, 16, 0),
        (29, 6, 3, dynamic, dynamic_size, 3, 0, 8, 16),
        (38, 3, 0, names_at, section_names.len() as u64, 0, 0, 1, 0),
    ];
    for (name, kind, flags, at, size, link, info, align, entry) in sections {
        let address = if flags == 0 { 0 } else { at };
        out.words(&[name, kind])
            .longs(&[flags, address, at, size])
            .words(&[link, info])
            .longs(&[align, entry]);
    }
    debug_assert_eq!(out.0.len() as u64, headers + 7 * SECTION_HEADER);
    out.0
}

/// Bytes in the order of small ends.
#[derive(Default)]
struct Image(Vec<u8>);

impl Image {
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn halves(&mut self, values: &[u16]) -> &mut Self {
        self.0
            .extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self
    }

    fn words(&mut self, values: &[u32]) -> &mut Self {
        self.0
            .extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self
    }

    fn longs(&mut self, values: &[u64]) -> &mut Self {
        self.0
            .extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self
    }

    fn pad(&mut self, to: u64) -> &mut Self {
        self.0.resize(to as usize, 0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
