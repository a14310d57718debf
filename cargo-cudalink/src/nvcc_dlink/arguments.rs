//! What the arguments of `nvcc -dlink` ask for.
//!
//! Options that only concern compilation, and those of the host compiler, mean nothing to a device link and are passed
//! over. An option that would change the link in a way that is not supported is an error.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::compression::Compression;

/// Response files may name each other; this many levels are enough for all but a circle.
const DEEPEST: usize = 16;

/// The options with a value, which stands behind `=` or in the next argument. Those of the link come first.
const WITH_VALUE: &[(&str, &str)] = &[
    ("--output-file", "-o"),
    ("--library", "-l"),
    ("--library-path", "-L"),
    ("--gpu-architecture", "-arch"),
    ("--gpu-code", "-code"),
    ("--generate-code", "-gencode"),
    ("--nvlink-options", "-Xnvlink"),
    ("--options-file", "-optf"),
    ("--Werror", "-Werror"),
    ("--compress-mode", "-compress-mode"),
    ("--dopt", "-dopt"),
    ("--host-linker-script", "-hls"),
    ("--fatbin-options", "-Xfatbin"),
    // These are passed over with their values.
    ("--Ofast-compile", "-Ofc"),
    ("--Wreorder", "-Wreorder"),
    ("--archive-options", "-Xarchive"),
    ("--archiver-binary", "-arbin"),
    ("--brief-diagnostics", "-brief-diag"),
    ("--compiler-bindir", "-ccbin"),
    ("--compiler-options", "-Xcompiler"),
    ("--cudadevrt", "-cudadevrt"),
    ("--cudart", "-cudart"),
    ("--default-stream", "-default-stream"),
    ("--define-macro", "-D"),
    ("--dependency-drive-prefix", "-ddp"),
    ("--dependency-output", "-MF"),
    ("--dependency-target-name", "-MT"),
    (
        "--device-entity-has-hidden-visibility",
        "-device-entity-has-hidden-visibility",
    ),
    ("--device-stack-protector", "-device-stack-protector"),
    ("--diag-error", "-diag-error"),
    ("--diag-suppress", "-diag-suppress"),
    ("--diag-warn", "-diag-warn"),
    ("--drive-prefix", "-dp"),
    ("--entries", "-e"),
    ("--cudafe-options", "-Xcudafe"),
    ("--fdevice-time-trace", "-fdevice-time-trace"),
    ("--fmad", "-fmad"),
    ("--frandom-seed", "-frandom-seed"),
    ("--ftemplate-backtrace-limit", "-ftemplate-backtrace-limit"),
    ("--ftemplate-depth", "-ftemplate-depth"),
    ("--ftz", "-ftz"),
    ("--include-path", "-I"),
    ("--input-drive-prefix", "-idp"),
    ("--jump-table-density", "-jtd"),
    ("--keep-dir", "-keep-dir"),
    ("--libdevice-directory", "-ldir"),
    ("--linker-options", "-Xlinker"),
    ("--machine", "-m"),
    ("--maxrregcount", "-maxrregcount"),
    ("--optimization-info", "-opt-info"),
    ("--optimize", "-O"),
    ("--output-directory", "-odir"),
    ("--pre-include", "-include"),
    ("--prec-div", "-prec-div"),
    ("--prec-sqrt", "-prec-sqrt"),
    ("--ptxas-options", "-Xptxas"),
    ("--relocatable-device-code", "-rdc"),
    ("--run-args", "-run-args"),
    ("--sanitize", "-sanitize"),
    ("--split-compile", "-split-compile"),
    ("--split-compile-extended", "-split-compile-extended"),
    (
        "--static-global-template-stub",
        "-static-global-template-stub",
    ),
    ("--std", "-std"),
    ("--system-include", "-isystem"),
    ("--target-directory", "-target-dir"),
    ("--threads", "-t"),
    ("--time", "-time"),
    ("--undefine-macro", "-U"),
    ("--x", "-x"),
];

/// The short options whose value may follow without anything between: `-lcudadevrt`.
const JOINED: &[&str] = &["-l", "-L", "-I", "-D", "-U", "-O", "-m"];

/// How the device link goes on with what nvcc would do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Whether there is a device link at all, and nothing behind it.
    pub(crate) is_device_link: bool,
    /// The processors, as `sm_90`. None where only the inputs tell.
    pub(crate) processors: Vec<String>,
    /// Objects and archives.
    pub(crate) inputs: Vec<PathBuf>,
    /// Names of libraries.
    pub(crate) libraries: Vec<String>,
    /// Folders to look for them in.
    pub(crate) library_paths: Vec<PathBuf>,
    /// Where the host object goes.
    pub(crate) output: Option<PathBuf>,
    /// Whether the device code is linked for a debugger.
    pub(crate) debug: bool,
    /// Whether images carry the lines of their sources.
    pub(crate) line_info: bool,
    /// Whether the linker says what kernels use.
    pub(crate) resource_usage: bool,
    /// Whether the whole program is optimized.
    pub(crate) link_time: bool,
    /// How images are compressed.
    pub(crate) compression: Compression,
    /// What `-Xnvlink` holds.
    pub(crate) linker_options: Vec<String>,
    /// Options of the linker for code that it compiles.
    pub(crate) compiler_options: Vec<String>,
}

impl Parsed {
    /// Reads arguments, and response files by `read`.
    pub(crate) fn parse(
        arguments: impl IntoIterator<Item = OsString>,
        read: &dyn Fn(&Path) -> std::io::Result<String>,
    ) -> Result<Self> {
        let mut parser = Parser {
            parsed: Self::default(),
            virtual_processor: None,
            code: Vec::new(),
            fatbin_options: Vec::new(),
            compress_mode: None,
            is_optimized: false,
            is_debug: false,
            read,
        };
        parser.all(arguments.into_iter().collect(), 0)?;
        parser.finish()
    }
}

struct Parser<'r> {
    parsed: Parsed,
    /// What `-arch` says.
    virtual_processor: Option<String>,
    /// What `-code` says.
    code: Vec<String>,
    /// What `-Xfatbin` holds.
    fatbin_options: Vec<String>,
    /// What nvcc says of it itself.
    compress_mode: Option<String>,
    is_optimized: bool,
    is_debug: bool,
    read: &'r dyn Fn(&Path) -> std::io::Result<String>,
}

impl Parser<'_> {
    fn all(&mut self, mut arguments: VecDeque<OsString>, depth: usize) -> Result<()> {
        while let Some(argument) = arguments.pop_front() {
            let Some(text) = argument.to_str().filter(|text| text.starts_with('-')) else {
                self.input(PathBuf::from(argument))?;
                continue;
            };
            let Some((name, value)) = split(text) else {
                self.flag(text)?;
                continue;
            };
            let value = match value {
                Some(value) => OsString::from(value),
                None => arguments
                    .pop_front()
                    .with_context(|| format!("{text} needs a value"))?,
            };
            if name == "--options-file" {
                self.response_files(&value, depth)?;
            } else {
                self.option(name, value)?;
            }
        }
        Ok(())
    }

    fn response_files(&mut self, names: &OsString, depth: usize) -> Result<()> {
        let names = names
            .to_str()
            .context("the name of a response file is not UTF-8")?;
        for name in names.split(',') {
            ensure!(depth < DEEPEST, "response files name each other: {name}");
            let text =
                (self.read)(Path::new(name)).with_context(|| format!("cannot read {name}"))?;
            let words =
                shlex::split(&text).with_context(|| format!("a quote does not end in {name}"))?;
            self.all(words.into_iter().map(OsString::from).collect(), depth + 1)?;
        }
        Ok(())
    }

    /// A file. nvcc leaves shared libraries to the host linker, and compiles sources.
    fn input(&mut self, path: PathBuf) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let extension = path.extension().and_then(|extension| extension.to_str());
        ensure!(
            !extension.is_some_and(|extension| SOURCES.contains(&extension)),
            "'{}' is a source, which has to be compiled first (nvcc -dc)",
            path.display()
        );
        let is_shared = name.ends_with(".so") || name.contains(".so.") || name.ends_with(".dylib");
        if !is_shared {
            self.parsed.inputs.push(path);
        }
        Ok(())
    }

    fn flag(&mut self, name: &str) -> Result<()> {
        match name {
            "--device-link" | "-dlink" => self.parsed.is_device_link = true,
            "--device-debug" | "-G" => self.is_debug = true,
            "--generate-line-info" | "-lineinfo" => self.parsed.line_info = true,
            "--resource-usage" | "-res-usage" => self.parsed.resource_usage = true,
            "--disable-warnings" | "-w" => self.parsed.linker_options.push("-w".to_owned()),
            "--dlink-time-opt" | "-dlto" | "--lto" | "-lto" => self.parsed.link_time = true,
            "--relocatable-link" | "-r" | "--relocatable-ptx" | "-reloc-ptx" | "--cubin"
            | "-cubin" | "--fatbin" | "-fatbin" => {
                bail!("{name} makes no host object; use rustnvlink itself")
            }
            "--no-compress" | "-no-compress" => self.parsed.compression.off = true,
            _ if OTHER_STEPS.contains(&name) => {
                bail!("{name} asks for another step of nvcc than its device link; use nvcc itself")
            }
            // Of the compiler, or of the host.
            _ => {}
        }
        Ok(())
    }

    fn option(&mut self, name: &str, value: OsString) -> Result<()> {
        let parsed = &mut self.parsed;
        if name == "--output-file" {
            parsed.output = Some(PathBuf::from(value));
            return Ok(());
        }
        let Some(text) = value.to_str() else {
            bail!("the value of {name} is not UTF-8: {}", value.display());
        };
        let list = || {
            text.split(',')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
        };
        match name {
            "--library" => parsed.libraries.extend(list()),
            "--library-path" => parsed.library_paths.extend(list().map(PathBuf::from)),
            "--maxrregcount" | "--split-compile" | "--split-compile-extended" => {
                let option = name.trim_start_matches('-');
                parsed.compiler_options.push(format!("-{option}={text}"));
            }
            "--ptxas-options" => {
                let options = list().map(|option| format!("-Xptxas={option}"));
                parsed.compiler_options.extend(options);
            }
            "--compress-mode" => self.compress_mode = Some(text.to_owned()),
            "--fatbin-options" => self.fatbin_options.extend(list()),
            "--nvlink-options" => parsed.linker_options.extend(list()),
            "--gpu-architecture" => self.virtual_processor = Some(text.to_owned()),
            "--gpu-code" => self.code.extend(list()),
            "--generate-code" => {
                let (processor, code) = generate_code(text)?;
                for code in code {
                    add(&mut parsed.processors, &processor, &code)?;
                }
            }
            "--dopt" => self.is_optimized = text == "on",
            "--Werror" => {
                let all = list().filter(|kind| kind == "all-warnings");
                parsed
                    .linker_options
                    .extend(all.map(|_| "-Werror".to_owned()));
            }
            // The other value, use-lcs, is about the host link behind this one.
            "--host-linker-script" if text == "gen-lcs" => {
                bail!("{name} makes a script for the host linker; `cargo cudalink script` makes it")
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Parsed> {
        let given = self.virtual_processor.take();
        match &given {
            Some(processor) if self.code.is_empty() => match processor.as_str() {
                // All that is there, as the inputs were compiled with the same option.
                "all" | "all-major" | "native" => {}
                processor => add(&mut self.parsed.processors, processor, processor)?,
            },
            Some(processor) => {
                for code in &self.code {
                    add(&mut self.parsed.processors, processor, code)?;
                }
            }
            None => ensure!(self.code.is_empty(), "-code needs -arch"),
        }
        // An optimized debug build keeps lines, and no more.
        self.parsed.debug = self.is_debug && !self.is_optimized;
        self.fatbin_options()?;
        Ok(self.parsed)
    }

    /// Takes what is for fatbinary, of which nvcc's own words come last.
    fn fatbin_options(&mut self) -> Result<()> {
        let compression = &mut self.parsed.compression;
        let mut words = self.fatbin_options.drain(..);
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let value = || {
                let value = value.or_else(|| words.next());
                value.with_context(|| format!("-Xfatbin: {name} needs a value"))
            };
            let is_known = compression.option(name.trim_start_matches('-'), value)?;
            ensure!(
                is_known,
                "-Xfatbin: '{word}' is not understood; use nvcc itself"
            );
        }
        match &self.compress_mode {
            Some(mode) => compression.set_mode(mode),
            None => Ok(()),
        }
    }
}

/// The long name and the value of an option that has one.
fn split(text: &str) -> Option<(&'static str, Option<&str>)> {
    let (typed, behind) = match text.split_once('=') {
        Some((typed, value)) => (typed, Some(value)),
        None => (text, None),
    };
    let named = WITH_VALUE
        .iter()
        .find(|(long, short)| typed == *long || typed == *short);
    if let Some((long, _)) = named {
        return Some((long, behind));
    }
    WITH_VALUE.iter().find_map(|(long, short)| {
        let value = text.strip_prefix(short)?;
        let is_joined = JOINED.contains(short) && !value.is_empty();
        // Options of several letters, like -lineinfo, are none of these.
        let is_other = FLAGS.contains(&text);
        (is_joined && !is_other).then_some((*long, Some(value)))
    })
}

/// The extensions of what nvcc compiles for the host, alone or with device code.
const SOURCES: &[&str] = &["c", "cc", "cpp", "cu", "cxx"];

/// The flags of nvcc that ask for something else than a link.
const OTHER_STEPS: &[&str] = &[
    "--compile",
    "-c",
    "--cuda",
    "-cuda",
    "--device-c",
    "-dc",
    "--device-w",
    "-dw",
    "--generate-dependencies",
    "-M",
    "--generate-nonsystem-dependencies",
    "-MM",
    "--ltoir",
    "-ltoir",
    "--optix-ir",
    "-optix-ir",
    "--preprocess",
    "-E",
    "--ptx",
    "-ptx",
];

/// The flags that begin like an option with a joined value.
const FLAGS: &[&str] = &[
    "-lineinfo",
    "-link",
    "-lib",
    "-lto",
    "-ltoir",
    "-m64",
    "-MD",
    "-MMD",
    "-MP",
    "-M",
    "-MM",
];

/// Takes `arch=compute_90,code=[compute_90,sm_90]` apart.
fn generate_code(text: &str) -> Result<(String, Vec<String>)> {
    let malformed = || format!("--generate-code needs arch=..,code=.. and has '{text}'");
    let (processor, code) = text.split_once(",code=").with_context(malformed)?;
    let processor = processor.strip_prefix("arch=").with_context(malformed)?;
    let code = code.trim_start_matches('[').trim_end_matches(']');
    let code = code
        .split(',')
        .map(|part| part.trim_matches(['\'', '"']).to_owned());
    Ok((processor.to_owned(), code.collect()))
}

/// Adds the processor that code is generated for; PTX needs no link.
fn add(processors: &mut Vec<String>, virtual_processor: &str, code: &str) -> Result<()> {
    let Some(number) = code
        .strip_prefix("sm_")
        .or_else(|| code.strip_prefix("lto_"))
    else {
        return Ok(());
    };
    // Features of a generation or of one processor come with the virtual processor.
    let suffix = virtual_processor
        .strip_prefix("compute_")
        .and_then(|name| name.strip_prefix(number));
    let name = format!("sm_{number}{}", suffix.unwrap_or_default());
    if !processors.contains(&name) {
        processors.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Parsed> {
        let words = shlex::split(text).expect("a command line");
        let read = |path: &Path| match path.to_str() {
            Some("a.rsp") => Ok("\"a b.o\" -L/lib -lx --options-file b.rsp".to_owned()),
            Some("b.rsp") => Ok("b.o\n".to_owned()),
            Some("circle.rsp") => Ok("-optf circle.rsp".to_owned()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        };
        Parsed::parse(words.into_iter().map(OsString::from), &read)
    }

    #[track_caller]
    fn check(text: &str, expected: Parsed) {
        assert_eq!(parse(text).expect(text), expected);
    }

    #[track_caller]
    fn check_processors(text: &str, expected: &[&str]) {
        assert_eq!(parse(text).expect(text).processors, expected);
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        let error = format!("{:#}", parse(text).expect_err(text));
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_cmake_writes_is_understood() {
        check(
            "-forward-unknown-to-host-compiler -ccbin=/usr/bin/g++ -O3 -DNDEBUG -std=c++17 \
             \"--generate-code=arch=compute_80,code=[compute_80,sm_80]\" -Xcompiler=-fPIC \
             -Wno-deprecated-gpu-targets -shared -dlink 'a b.o' -o d.o libx.a libs.so libv.so.1 -L/lib -lcudadevrt",
            Parsed {
                is_device_link: true,
                processors: vec!["sm_80".to_owned()],
                inputs: vec![PathBuf::from("a b.o"), PathBuf::from("libx.a")],
                libraries: vec!["cudadevrt".to_owned()],
                library_paths: vec![PathBuf::from("/lib")],
                output: Some(PathBuf::from("d.o")),
                ..Parsed::default()
            },
        );
    }

    #[test]
    fn response_files_are_read_where_they_stand() {
        check(
            "first.o --options-file a.rsp -optf=b.rsp",
            Parsed {
                inputs: ["first.o", "a b.o", "b.o", "b.o"]
                    .map(PathBuf::from)
                    .to_vec(),
                libraries: vec!["x".to_owned()],
                library_paths: vec![PathBuf::from("/lib")],
                ..Parsed::default()
            },
        );
        check_error("-optf circle.rsp", "name each other");
        check_error("-optf none.rsp", "cannot read none.rsp");
    }

    #[test]
    fn processors_are_spelled_in_many_ways() {
        check_processors("-arch=sm_90", &["sm_90"]);
        check_processors(
            "-arch compute_80 -code sm_80,sm_86,compute_80",
            &["sm_80", "sm_86"],
        );
        check_processors(
            "-gencode arch=compute_80,code=sm_80 --generate-code=arch=compute_80,code=[sm_80,sm_86]",
            &["sm_80", "sm_86"],
        );
        check_processors("-gencode arch=compute_100f,code=sm_100", &["sm_100f"]);
        check_processors("-gencode arch=compute_90a,code=sm_90a", &["sm_90a"]);
        check_processors("-arch=all-major", &[]);
        check_processors(
            "-gencode arch=compute_90,code=[compute_90,lto_90]",
            &["sm_90"],
        );
        check_error("-gencode compute_90", "arch=..,code=..");
    }

    #[test]
    fn flags_are_no_joined_values() {
        check(
            "-m64 -MD -lto_not_a_flag",
            Parsed {
                libraries: vec!["to_not_a_flag".to_owned()],
                ..Parsed::default()
            },
        );
    }

    #[test]
    fn options_of_the_link_are_kept() {
        check(
            "-lineinfo",
            Parsed {
                line_info: true,
                ..Parsed::default()
            },
        );
        check(
            "-G -res-usage -w -Werror reorder,all-warnings -hls=use-lcs -Xnvlink=-v,-suppress-arch-warning",
            Parsed {
                debug: true,
                resource_usage: true,
                linker_options: ["-w", "-Werror", "-v", "-suppress-arch-warning"]
                    .map(str::to_owned)
                    .to_vec(),
                ..Parsed::default()
            },
        );
        check("-G -dopt=on", Parsed::default());
        check(
            "-dlto -maxrregcount=32",
            Parsed {
                link_time: true,
                compiler_options: vec!["-maxrregcount=32".to_owned()],
                ..Parsed::default()
            },
        );
    }

    #[test]
    fn images_are_compressed_as_asked_for() {
        let check = |text: &str, expected: &str| {
            let compression = parse(text).expect(text).compression;
            assert_eq!(compression.resolved(false).to_string(), expected, "{text}");
        };
        check("-O3", "large");
        check("-Xfatbin -compress-all", "zstd:5");
        check("-Xfatbin=-compress-all,-compress-mode=speed", "lz4");
        check("-Xfatbin -compress-mode -Xfatbin size", "zstd:19");
        check(
            "--compress-mode=size -Xfatbin=-compress-mode=none",
            "zstd:19",
        );
        check("-no-compress -Xfatbin -compress-all", "none");
    }

    #[test]
    fn what_is_not_done_is_an_error() {
        check_error("-r", "no host object");
        check_error("-dlink -ptx", "-ptx asks for another step");
        check_error("--compile a.o", "--compile asks for another step");
        check_error("-Xfatbin -bogus", "'-bogus' is not understood");
        check_error("-Xfatbin -compress-mode", "-compress-mode needs a value");
        check_error("--compress-mode=best", "'best' is no mode");
        check_error("a.o -o", "-o needs a value");
        check_error("-hls gen-lcs", "cargo cudalink script");
        check_error("-dlink a.o b.cu", "'b.cu' is a source");
    }
}
