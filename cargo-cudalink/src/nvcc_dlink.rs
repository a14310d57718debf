//! `cargo cudalink nvcc-dlink`: the device link of `nvcc -dlink`, for build systems that write nvcc's command line.

mod arguments;

use std::error::Error as _;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, bail, ensure};
use clap::{Args, Parser};
use cudalink_toolkit::{Environment, Search, Toolkit};
use rustnvlink::arch::Sm;
use rustnvlink::fatbin::CompressionMode;
use rustnvlink::inputs::{Files, host_folder};

use crate::link;
use arguments::Parsed;

/// Do the device link of a command line for `nvcc -dlink`
///
/// To be put before the command line of a build system. Options of the compilation and of the host mean nothing here and
/// are passed over. nvcc itself is not run.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  cargo cudalink nvcc-dlink nvcc -arch=sm_90 -dlink main.o part.o -o device_link.o")]
pub(crate) struct Arguments {
    /// The nvcc that would be run, whose toolkit gives libraries, and ptxas where there is PTX
    nvcc: PathBuf,
    /// What it would be given
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

/// Where nvcc puts the result of a device link that names no other place.
const OUTPUT: &str = "a_dlink.o";

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    check_compiler(&arguments.nvcc)?;
    let mut parsed = Parsed::parse(arguments.arguments, &|path| fs::read_to_string(path))?;
    ensure!(
        parsed.is_device_link,
        "the command line asks for no device link (-dlink), but for another step of nvcc; use nvcc itself"
    );
    let toolkit = toolkit_of(&arguments.nvcc, parsed.link_time)?;
    let of_toolkit = toolkit.as_ref().and_then(|toolkit| toolkit.lib_dir().ok());
    parsed.library_paths.extend(of_toolkit);
    let folders = parsed.library_paths.clone();
    let for_host = leave_to_host(&mut parsed);
    let missing = || match toolkit {
        Some(_) => nowhere(&for_host, &folders),
        // They may be in one that only nvcc knows.
        None => Vec::new(),
    };
    let link_time = parsed.link_time;

    /// The command line of `link`.
    #[derive(Parser)]
    struct Link {
        #[command(flatten)]
        arguments: link::Arguments,
    }
    let words = std::iter::once(OsString::from("link")).chain(translated(parsed)?);
    let arguments = Link::try_parse_from(words)
        .map_err(without_usage)?
        .arguments;
    link::run_as_nvcc(arguments, toolkit.as_ref(), missing, |files| {
        processors_of_objects(files, link_time)
    })
}

/// Leaves to the host linker the libraries that are not there as static ones, and gives their names.
fn leave_to_host(parsed: &mut Parsed) -> Vec<String> {
    let libraries = std::mem::take(&mut parsed.libraries);
    let (taken, left) = libraries
        .into_iter()
        .partition(|name| is_there(name, "a", &parsed.library_paths));
    parsed.libraries = taken;
    left
}

/// The names of libraries that the host linker will not find either.
fn nowhere(libraries: &[String], folders: &[PathBuf]) -> Vec<String> {
    let is_missing = |name: &&String| {
        // The rest of a name that begins with a colon is that of a file.
        !name.starts_with(':') && !is_there(name, "so", folders) && host_folder(name).is_none()
    };
    libraries.iter().filter(is_missing).cloned().collect()
}

/// Whether a folder has a library of this name and end.
fn is_there(name: &str, end: &str, folders: &[PathBuf]) -> bool {
    let file = format!("lib{name}.{end}");
    folders.iter().any(|folder| folder.join(&file).is_file())
}

/// What is wrong with a value, without advice about options that nobody has typed.
fn without_usage(error: clap::Error) -> Error {
    let reason = error.source().map(ToString::to_string);
    let whole = error.render().to_string();
    let first = whole.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    Error::msg(reason.unwrap_or_else(|| first.to_owned()))
}

/// Refuses an input in the place of the compiler, which would be left out of the link.
fn check_compiler(nvcc: &Path) -> Result<()> {
    const INPUTS: [&str; 8] = ["a", "cu", "cubin", "fatbin", "ltoir", "o", "obj", "ptx"];
    let extension = nvcc.extension().and_then(|extension| extension.to_str());
    match extension.is_some_and(|extension| INPUTS.contains(&extension)) {
        false => Ok(()),
        true => bail!(
            "'{}' is no compiler, which comes first: `cargo cudalink nvcc-dlink nvcc -dlink ..`",
            nvcc.display()
        ),
    }
}

/// The processors that objects were compiled for. Without a processor, or with -arch=native, nvcc links for the one that it
/// compiles for, whatever libraries have more of; where there is no device code, for its oldest.
fn processors_of_objects(files: &Files, link_time: bool) -> Vec<Sm> {
    let is_library = |name: &str| name.ends_with(".a");
    let survey = files.survey_of(|name| !is_library(name));
    if !survey.has_code() && !files.survey_of(is_library).has_code() {
        return vec![Sm::KNOWN[0]];
    }
    let mut processors = survey.processors;
    if link_time {
        processors.extend(survey.intermediates);
    }
    processors.into_iter().collect()
}

/// The toolkit that an nvcc belongs to, of which it would take ptxas and libraries, if there is one. What optimizes LTO-IR
/// and what assembles the result have to be of one toolkit.
fn toolkit_of(nvcc: &Path, link_time: bool) -> Result<Option<Toolkit>> {
    let environment = Environment::from_process()?;
    let toolkit = Search::new(&environment).around(nvcc);
    Ok(toolkit.filter(|toolkit| !link_time || toolkit.libnvjitlink().is_ok()))
}

/// What `cargo cudalink link` has to be told.
fn translated(parsed: Parsed) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = Vec::new();
    let output = parsed.output.unwrap_or_else(|| OUTPUT.into());
    words.extend(["-o".into(), output.into_os_string()]);
    let mut flags = Vec::new();
    flags.extend(
        parsed
            .processors
            .iter()
            .map(|name| format!("--arch={name}")),
    );
    flags.extend(
        parsed
            .libraries
            .iter()
            .map(|name| format!("--library={name}")),
    );
    if parsed.debug || parsed.line_info {
        // nvcc names the inputs in the fatbin for debuggers, each with a blank behind it.
        let names = parsed.inputs.iter();
        let names = names.map(|file| format!("{} ", file.display()));
        flags.push(format!("--ident={}", names.collect::<String>()));
    }
    if parsed.debug {
        flags.push("--device-debug".to_owned());
    }
    let compression = parsed.compression.resolved(parsed.debug);
    if compression != CompressionMode::of_device_link(parsed.debug) {
        flags.push(format!("--compress-mode={compression}"));
    }
    if parsed.resource_usage {
        flags.push("--verbose".to_owned());
    }
    let mut linker_options = parsed.linker_options;
    if parsed.link_time {
        flags.push("--dlto".to_owned());
        // Else there is nothing to compile, and nvcc does not hand them on.
        linker_options.extend(parsed.compiler_options);
    }
    flags.extend(
        linker_options
            .iter()
            .map(|option| format!("--Xnvlink={option}")),
    );
    words.extend(flags.into_iter().map(OsString::from));
    for folder in parsed.library_paths {
        words.extend(["-L".into(), folder.into_os_string()]);
    }
    words.push("--".into());
    words.extend(parsed.inputs.into_iter().map(PathBuf::into_os_string));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use rustnvlink::inputs::{Environment, Wanted};

    use super::*;

    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let words = shlex::split(typed).expect("a command line");
        let none = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
        let parsed = Parsed::parse(words.into_iter().map(OsString::from), &none).expect(typed);
        let words = translated(parsed).expect(typed);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn objects_tell_the_processors_where_nothing_else_does() {
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("libcallee.a");
        let code = fs::read(inputs.join("callee.sm_100.cubin")).expect("an input");
        fs::write(&library, code).expect("a library");
        let object = inputs.join("caller.sm_90.cubin");
        let check = |inputs: &[&PathBuf], expected: &[&str]| {
            let wanted = Wanted::new(inputs.iter().map(|path| path.to_path_buf()).collect());
            let files = Files::read(&wanted, &Environment::from_process());
            let processors = processors_of_objects(&files, false);
            let names: Vec<String> = processors.iter().map(ToString::to_string).collect();
            assert_eq!(names, expected);
        };
        check(&[&library, &object], &["sm_90"]);
        check(&[&library], &[]);
        check(&[], &["sm_75"]);
    }

    #[test]
    fn a_command_line_is_translated() {
        check(
            "-arch=sm_90 -O3 -dlink a.o liba.a -o d.o -L/lib -lcudadevrt -Xnvlink -v,--ignore-host-info",
            "-o d.o --arch=sm_90 --library=cudadevrt --Xnvlink=-v --Xnvlink=--ignore-host-info -L /lib -- a.o liba.a",
        );
        check(
            "-lineinfo a.o b.o -o d.o",
            "-o d.o --ident=a.o b.o  -- a.o b.o",
        );
        check(
            "-dlto -gencode arch=compute_90,code=lto_90 -maxrregcount 32 -Xptxas -v,-O1 a.o -o d.o",
            "-o d.o --arch=sm_90 --dlto --Xnvlink=-maxrregcount=32 --Xnvlink=-Xptxas=-v --Xnvlink=-Xptxas=-O1 -- a.o",
        );
        check("-dlink a.o", "-o a_dlink.o -- a.o");
        check("-G a.o -o d.o", "-o d.o --ident=a.o  --device-debug -- a.o");
        check(
            "--compress-mode=size a.o -o d.o",
            "-o d.o --compress-mode=zstd:19 -- a.o",
        );
        check(
            "-compress-mode=speed a.o -o d.o",
            "-o d.o --compress-mode=large-speed -- a.o",
        );
        check(
            "-compress-mode=speed -G a.o -o d.o",
            "-o d.o --ident=a.o  --device-debug --compress-mode=lz4 -- a.o",
        );
        check("-compress-mode=balance a.o -o d.o", "-o d.o -- a.o");
        check(
            "-Xfatbin -compress-all a.o -o d.o",
            "-o d.o --compress-mode=zstd:5 -- a.o",
        );
    }
}
