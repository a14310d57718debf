//! `cargo cudalink link`: links device code as `nvcc -dlink` does, and writes it in the form that is asked for.

pub(crate) mod messages;
mod stub;

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use cudalink_bindings::Bindings;
use cudalink_toolkit::Toolkit;
use rustnvlink::arch::Sm;
use rustnvlink::cli::LinkOptions;
use rustnvlink::codes;
use rustnvlink::container::{Foreign, InputKind, detect};
use rustnvlink::device_link::{DeviceLink, Linked, Message};
use rustnvlink::fatbin::{CompressionMode, FatbinOptions};
use rustnvlink::host::HostObject;
use rustnvlink::inputs::{Environment, Files, Kernels, ToolError, Tools, Wanted};
use rustnvlink::output::{Clash, Named, clash, depfile};

use crate::settings::{KernelChoice, processor};
use crate::streams::{self, write};
use crate::style;
use crate::toolkit;

/// Link device code for one or more processors, as `nvcc -dlink` does
///
/// Takes objects that were compiled with -rdc=true (nvcc -dc), libraries of them, cubins and fatbins. The result goes to
/// the host linker together with the same objects, before all libraries.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo cudalink link main.o part.o libother.a -o device_link.o
  cargo cudalink link --arch sm_90 main.o part.o -o program.cubin
  cargo cudalink link main.o part.o -o kernels.rs")]
pub(crate) struct Arguments {
    /// Objects, static libraries, cubins, fatbins and PTX; @FILE stands for the words in a file
    #[arg(required_unless_present = "library", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the result goes; `-` is the standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Where a make rule goes that names all files the result depends on; `-` is the standard output
    #[arg(long, value_name = "FILE")]
    depfile: Option<PathBuf>,
    /// What the result is; without it, what the name of the result says (.cubin, .fatbin, .rs, .h, .hpp, .c), else an object
    #[arg(long, value_enum, value_name = "FORMAT", visible_alias = "format")]
    output_format: Option<OutputFormat>,
    /// The processors to link for, such as sm_90,sm_100a; without it, all that the inputs have code for, where they have a kernel
    #[arg(long, value_name = "SM,..", value_delimiter = ',', value_parser = processor)]
    arch: Vec<Sm>,
    /// A folder to look for libraries in; may be given several times
    #[arg(short = 'L', long, value_name = "FOLDER")]
    library_path: Vec<PathBuf>,
    /// A static library to link: NAME of libNAME.a, also in the CUDA toolkit
    #[arg(short = 'l', long, value_name = "NAME")]
    library: Vec<String>,
    /// The CUDA toolkit for PTX, LTO-IR and libraries: its folder, or the version of one that `cargo cudalink toolkit list` shows, such as 13.0
    #[arg(long, value_name = "FOLDER|VERSION")]
    toolkit: Option<PathBuf>,
    /// Which kernels stay: all, or those that host code names. `used` for objects, else `all`
    #[arg(long, value_enum, value_name = "WHICH")]
    kernels: Option<KernelChoice>,
    /// Optimize the whole program: link LTO-IR (nvcc -dlto) instead of machine code. -dlto for short
    #[arg(long, visible_alias = "lto", conflicts_with = "device_debug")]
    dlto: bool,
    /// Options of `rustnvlink` for the links, such as -preserve-relocs. -Xnvlink for short
    #[arg(
        long = "Xnvlink",
        value_name = "OPTION,..",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    linker_options: Vec<OsString>,
    /// Keep what debuggers need, and compress images as nvcc does with -G
    #[arg(short = 'G', long)]
    device_debug: bool,
    /// How images are compressed: large (those of more than ten million bytes; the default), large-speed, none, speed, balance, size or zstd:LEVEL
    #[arg(long, value_name = "MODE")]
    compress_mode: Option<CompressionMode>,
    /// A name for the images that tools show; with -G the names of the inputs unless given
    #[arg(long, value_name = "TEXT")]
    ident: Option<String>,
    /// The host to make the object for, as a target triple; without it, that of the inputs
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Make the object with the C compiler, also where it could be written without one
    #[arg(long)]
    cc: bool,
    /// How many threads the links may have; without it, and with 0, as many as there are processors
    #[arg(long, value_name = "N")]
    threads: Option<u16>,
    /// Do not warn of inputs without code for some processor
    #[arg(long)]
    suppress_arch_warning: bool,
    /// Say what the program and its kernels use
    #[arg(short, long)]
    verbose: bool,
    /// Who asks for the link, and reads advice
    #[arg(long, value_enum, default_value_t, hide = true)]
    caller: Caller,
}

/// Whose words advice is given in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Caller {
    /// Whoever types the command
    #[default]
    User,
    /// The functions of our CMake package
    Cmake,
    /// What else calls nvcc, which names the processors
    #[value(skip)]
    Nvcc,
}

/// What the result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// An object for the host linker
    Object,
    /// The same as C source
    C,
    /// The images of all processors in one file, which the driver can load
    Fatbin,
    /// The image of a single processor
    Cubin,
    /// A fatbin, and beside it a Rust module that embeds and describes it
    Rust,
    /// A C header with a fatbin and its description
    CHeader,
}

impl OutputFormat {
    /// What a file of this name holds.
    fn of(path: &Path) -> Self {
        match extension(path) {
            "cubin" => Self::Cubin,
            "fatbin" => Self::Fatbin,
            "rs" => Self::Rust,
            "h" | "hpp" => Self::CHeader,
            "c" => Self::C,
            _ => Self::Object,
        }
    }

    /// What a file of this name would be taken for that no link makes.
    fn never_made(path: &Path) -> Option<&'static str> {
        match extension(path) {
            "a" => Some("a static library"),
            "so" => Some("a shared library"),
            "cc" | "cpp" | "cu" | "cxx" => Some("a C++ source"),
            "ptx" => Some("PTX"),
            "ltoir" => Some("LTO-IR"),
            _ => None,
        }
    }
}

fn extension(path: &Path) -> &str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.unwrap_or_default()
}

impl Arguments {
    fn format(&self) -> OutputFormat {
        let named = || OutputFormat::of(&self.output);
        self.output_format.unwrap_or_else(named)
    }
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    check_name(&arguments)?;
    refuse_sources(&arguments.files)?;
    let mut problem = None;
    let toolkit = arguments.toolkit.as_deref();
    let toolkit = toolkit
        .map(|choice| toolkit::find(Some(choice)))
        .transpose()?;
    let targets = |_: &Files| arguments.arch.clone();
    let linked = link(&arguments, toolkit.as_ref(), targets, |linked| {
        problem = messages::without_code(linked);
        if problem.is_some() {
            let messages = &mut linked.messages;
            messages.retain(|message| message.diagnostic.code != messages::NO_CODE);
        }
    })?;
    if let Some(problem) = problem {
        bail!("{problem}: {}", messages::choice(arguments.caller));
    }
    check_outputs(&arguments, &linked)?;
    write_result(&arguments, &linked)
}

/// Some results need a file with a name, and no name may promise what is not made.
fn check_name(arguments: &Arguments) -> Result<()> {
    if !streams::is_standard(&arguments.output) {
        let promised = OutputFormat::never_made(&arguments.output);
        return match promised.filter(|_| arguments.output_format.is_none()) {
            Some(what) => bail!(
                "'{}' is the name of {what}, which a device link does not make: choose with --output-format what it \
                 is to be, or give an object a name that ends in .o",
                arguments.output.display()
            ),
            None => Ok(()),
        };
    }
    if arguments.depfile.is_some() {
        bail!("a make rule needs the name of what it makes: name a file with -o");
    }
    match arguments.format() {
        OutputFormat::Rust | OutputFormat::CHeader => {
            bail!("what the source defines is named after its file: name one with -o")
        }
        // Its bytes may be commands to the terminal.
        OutputFormat::Object | OutputFormat::Fatbin | OutputFormat::Cubin
            if io::stdout().is_terminal() =>
        {
            bail!(
                "the result is no text for a terminal: name a file with -o, or lead the output elsewhere"
            )
        }
        OutputFormat::Object | OutputFormat::C | OutputFormat::Fatbin | OutputFormat::Cubin => {
            Ok(())
        }
    }
}

/// nvcc would compile a source: whoever names one wants its code in the result, so that a warning is too little.
fn refuse_sources(files: &[PathBuf]) -> Result<()> {
    let is_source = |path: &&PathBuf| {
        Foreign::is_named_source(path)
            && fs::read(path).is_ok_and(|data| detect(&data) == InputKind::Unknown)
    };
    match files.iter().find(is_source) {
        Some(path) => bail!(
            "'{}' is a source, which has to be compiled first (nvcc -dc)",
            path.display()
        ),
        None => Ok(()),
    }
}

/// No input gives way to a result, and each result has a file of its own.
fn check_outputs(arguments: &Arguments, linked: &Linked) -> Result<()> {
    let image = match arguments.format() {
        OutputFormat::Rust => Some(image_of_module(&arguments.output)?),
        OutputFormat::Object
        | OutputFormat::C
        | OutputFormat::Fatbin
        | OutputFormat::Cubin
        | OutputFormat::CHeader => None,
    };
    let outputs = [
        ("-o", Some(&arguments.output)),
        ("-o", image.as_ref()),
        ("--depfile", arguments.depfile.as_ref()),
    ];
    let outputs: Vec<Named> = outputs
        .into_iter()
        .filter_map(|(option, path)| Some(Named::new(option, path?)))
        .filter(|output| !streams::is_standard(&output.path))
        .collect();
    match clash(&outputs, &linked.files) {
        Some(Clash { what, advice, .. }) => bail!("{what}: {advice}"),
        None => Ok(()),
    }
}

/// The fatbin that a Rust module embeds.
fn image_of_module(path: &Path) -> Result<PathBuf> {
    let image = path.with_extension("fatbin");
    if image == path {
        bail!(
            "the Rust module cannot be {}, where its image goes; end it with .rs",
            path.display()
        );
    }
    Ok(image)
}

/// The same as nvcc does it: an image without code is as good as any. `toolkit` is that of the nvcc, `missing` tells the
/// names of libraries that are nowhere, and `default` the processors where none is named.
pub(crate) fn run_as_nvcc(
    mut arguments: Arguments,
    toolkit: Option<&Toolkit>,
    missing: impl Fn() -> Vec<String>,
    default: impl FnOnce(&Files) -> Vec<Sm>,
) -> Result<()> {
    // Whatever the file is called.
    arguments.output_format = Some(OutputFormat::Object);
    arguments.caller = Caller::Nvcc;
    let targets = |files: &Files| match &arguments.arch[..] {
        [] => default(files),
        named => named.to_vec(),
    };
    let mut help = None;
    let linked = link(&arguments, toolkit, targets, |linked| {
        if linked.has(codes::UNDEFINED_REFERENCE) {
            let is_library = |file: &PathBuf| file.extension().is_some_and(|end| end == "a");
            let has_libraries = arguments.files.iter().any(is_library);
            let without = || (!has_libraries).then(|| messages::HELP_WITHOUT_LIBRARIES.to_owned());
            help = messages::help_with_missing(&missing()).or_else(without);
        }
        // CMake has programs linked that have no device code of their own, whose users cannot do anything about it.
        let lacking = linked.without_code();
        let is_expected = |message: &Message| {
            let is_about_lacking = message.sm.is_none_or(|sm| lacking.contains(&sm));
            message.diagnostic.code == messages::NO_CODE && !is_about_lacking
        };
        linked.messages.retain(|message| !is_expected(message));
    });
    if let Some(help) = help {
        style::help(&help);
    }
    write_result(&arguments, &linked?)
}

/// Writes the result, and what it depends on once it is there.
fn write_result(arguments: &Arguments, linked: &Linked) -> Result<()> {
    write_form(arguments, linked)?;
    match &arguments.depfile {
        Some(depfile) => {
            let outputs = slice::from_ref(&arguments.output);
            write(depfile, &depfile::rule(outputs, &linked.files))
        }
        None => Ok(()),
    }
}

fn write_form(arguments: &Arguments, linked: &Linked) -> Result<()> {
    let options = FatbinOptions::default()
        .identifier(identifier(arguments))
        .debug(arguments.device_debug)
        .compression(
            arguments
                .compress_mode
                .unwrap_or(CompressionMode::of_device_link(arguments.device_debug)),
        );
    let path = &arguments.output;
    match arguments.format() {
        OutputFormat::Object => {
            let fatbin = linked.fatbin(&options)?;
            let host = HostObject::new(&fatbin, &linked.modules)?;
            stub::write(
                path,
                &host,
                linked.host,
                arguments.target.as_deref(),
                arguments.cc,
            )
        }
        OutputFormat::C => {
            let fatbin = linked.fatbin(&options)?;
            let source = HostObject::new(&fatbin, &linked.modules)?.source()?;
            write(path, source.as_bytes())
        }
        OutputFormat::Fatbin => write(path, &linked.fatbin(&options)?),
        OutputFormat::Cubin => match &linked.images[..] {
            [image] => write(path, &image.data),
            images => {
                bail!(
                    "a cubin is for one processor, and there are images for {}; choose one with --arch, or \
                     --output-format=fatbin for all",
                    Sm::list(images.iter().map(|image| &image.sm))
                )
            }
        },
        OutputFormat::Rust => {
            let fatbin = linked.fatbin(&options)?;
            let module = bindings(linked)?.rust(stem(path)?, fatbin.len());
            write(&image_of_module(path)?, &fatbin)?;
            write(path, module.as_bytes())
        }
        OutputFormat::CHeader => {
            let header = bindings(linked)?.c(stem(path)?, &linked.fatbin(&options)?);
            write(path, header.as_bytes())
        }
    }
}

fn bindings(linked: &Linked) -> Result<Bindings> {
    Bindings::collect(linked, "`cargo cudalink link`")
        .map_err(|error| anyhow!(error).context("the linked image cannot be described"))
}

/// What names in a source start with.
fn stem(path: &Path) -> Result<&str> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.with_context(|| format!("{} has no name that a source can use", path.display()))
}

/// The name of the images, after nvcc's: with -G it lists the inputs, each with a blank behind it.
fn identifier(arguments: &Arguments) -> String {
    match &arguments.ident {
        Some(name) => name.clone(),
        None if arguments.device_debug => {
            let names = arguments
                .files
                .iter()
                .map(|file| format!("{} ", file.display()));
            names.collect()
        }
        None if arguments.dlto => "lto".to_owned(),
        None => String::new(),
    }
}

/// Links for the processors that `targets` makes of the inputs, and shows what `review` leaves of the messages. Without a
/// toolkit, one is looked for where the link needs something of it.
fn link(
    arguments: &Arguments,
    toolkit: Option<&Toolkit>,
    targets: impl FnOnce(&Files) -> Vec<Sm>,
    review: impl FnOnce(&mut Linked),
) -> Result<Linked> {
    let LinkOptions {
        mut request,
        messages,
        threads,
        notes,
        ..
    } = link_options(arguments)?;
    messages::print_notes(&messages, notes);
    // A program without device code is none that could be mended, and a warning of it would end the link.
    if arguments.caller == Caller::Nvcc && request.inputs.warnings_are_errors {
        request.inputs.may_be_empty = true;
    }
    match toolkit {
        Some(toolkit) => take_programs(&mut request.inputs, toolkit)?,
        None => toolkit::check_choice()?,
    }
    add_inputs(&mut request.inputs, arguments, toolkit);
    let mut linked = DeviceLink::new(&request)
        .environment(environment())
        .messages(messages)
        .threads(threads)
        .device_runtime(&|| device_runtime(toolkit))
        .link_files(targets);
    review(&mut linked);
    let help = match linked.is_complete() {
        true => None,
        false => messages::help_with_processors(arguments.caller, &linked),
    };
    if help.is_some() {
        for message in &mut linked.messages {
            message.diagnostic.remove_advice_about_processors();
        }
    }
    messages::print(&linked.messages);
    if linked.is_complete() {
        return Ok(linked);
    }
    for help in help
        .into_iter()
        .chain(messages::help_with_intermediates(arguments.caller, &linked))
    {
        style::help(help);
    }
    bail!("the device code cannot be linked");
}

/// Adds what the command line names to the inputs that the linker's options name, and which of their kernels stay.
fn add_inputs(inputs: &mut Wanted, arguments: &Arguments, toolkit: Option<&Toolkit>) {
    inputs.files.splice(..0, arguments.files.iter().cloned());
    inputs.libraries.extend(arguments.library.iter().cloned());
    inputs
        .library_paths
        .extend(arguments.library_path.iter().cloned());
    if !inputs.libraries.is_empty() {
        // nvcc looks there behind what is named.
        let runtime = device_runtime(toolkit);
        let of_toolkit = runtime.and_then(|library| Some(library.parent()?.to_owned()));
        inputs.library_paths.extend(of_toolkit);
    }
    let for_host = matches!(arguments.format(), OutputFormat::Object | OutputFormat::C);
    match arguments.kernels {
        Some(KernelChoice::Used) => inputs.kernels = Kernels::NamedByHost,
        Some(KernelChoice::All) => inputs.kernels = Kernels::All,
        // Who loads an image by hand looks kernels up by name, and nothing here knows which.
        None if !for_host && inputs.kernels == Kernels::NamedByHost => {
            inputs.kernels = Kernels::All
        }
        None => {}
    }
}

/// What is asked for in the words of the linker.
fn link_options(arguments: &Arguments) -> Result<LinkOptions> {
    let mut options = arguments.linker_options.clone();
    for (is_set, option) in [
        (arguments.dlto, "-dlto"),
        (arguments.device_debug, "-g"),
        (arguments.suppress_arch_warning, "-suppress-arch-warning"),
        (arguments.verbose, "-v"),
    ] {
        if is_set {
            options.push(option.into());
        }
    }
    options.extend(
        arguments
            .threads
            .map(|count| format!("--threads={count}").into()),
    );
    LinkOptions::parse(options).map_err(|problem| anyhow!(problem.shown()))
}

/// Takes what the link needs of a toolkit that was chosen, unless the linker's options name something else.
fn take_programs(inputs: &mut Wanted, toolkit: &Toolkit) -> Result<()> {
    let optimizer = inputs.link_time.as_mut();
    let optimizer = optimizer.filter(|link_time| link_time.library.is_none());
    let programs = toolkit.link_programs(optimizer.is_some())?;
    inputs.assembler.program.get_or_insert(programs.ptxas);
    if let Some(link_time) = optimizer {
        link_time.library = programs.libnvjitlink;
    }
    Ok(())
}

/// The library that every device link of nvcc searches.
fn device_runtime(toolkit: Option<&Toolkit>) -> Option<PathBuf> {
    match toolkit {
        Some(toolkit) => toolkit.libcudadevrt().ok(),
        None => toolkit::noted().ok()?.libcudadevrt().ok(),
    }
}

/// Where the linker finds what it takes of a toolkit.
fn environment() -> Environment {
    let mut environment = Environment::from_process();
    environment.tools = Arc::new(Noted(environment.tools));
    environment
}

/// Says which toolkit it is not when one is looked for.
#[derive(Debug)]
struct Noted(Arc<dyn Tools>);

impl Tools for Noted {
    fn ptxas(&self) -> Result<PathBuf, ToolError> {
        drop(toolkit::noted());
        self.0.ptxas()
    }

    fn jitlink(&self) -> Result<PathBuf, ToolError> {
        drop(toolkit::noted());
        self.0.jitlink()
    }
}
