//! Stubs of the driver's libraries, for machines that only build.
//!
//! Programs that call the driver name its library (`-lcuda`) when they are linked, and find it where they run. NVIDIA's
//! installers put a stub of it into each toolkit, packages do not. A stub is a shared library that has the functions which
//! the toolkit's headers declare, and the name under which programs look for the real one. Its functions do nothing but
//! return the error that says so.

mod shared_library;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use object::elf;
use tempfile::NamedTempFile;

use shared_library::shared_library;

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
        let text = (machine.returns)(stub.error);
        let bytes =
            shared_library(machine.number, stub.soname, &names, &text).map_err(io::Error::other)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use object::Endianness;
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
