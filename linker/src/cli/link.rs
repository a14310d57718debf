//! One link from files to a file, or to one for each of several processors.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::link_time::Made;
use super::lower::{Request, Target};
use super::messages::Messages;
use super::{Exit, depfile, fatal, link_time, output};
use crate::Input;
use crate::arch::Sm;
use crate::cubin::UnifiedIndex;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::fatbin::{self, FatbinOptions, LinkedImage};
use crate::inputs::{self, Behaviour, Environment, Files, Image, Loaded, Wanted};
use crate::options::{Keeping, Options};
use crate::report::Reports;

/// Links, prints what there is to say and writes the files.
pub(super) fn link(
    request: &Request,
    environment: &Environment,
    messages: &mut Messages,
) -> Result<Exit, Diagnostic> {
    let start = Instant::now();
    let exit = link_all(request, environment, messages);
    if let Some(path) = &request.time {
        let row = (request.behaviour == Behaviour::Own).then(|| start.elapsed());
        output::append_time(path, request, row)?;
    }
    exit
}

/// What came of the link for one processor.
struct Linked {
    exit: Exit,
    /// An image, or PTX. It is not there if the link failed, or was for a
    /// virtual processor.
    output: Option<Vec<u8>>,
    /// The text for the host stub, if it is to be written.
    registration: Option<String>,
}

impl Linked {
    fn ended(exit: Exit) -> Self {
        Self {
            exit,
            output: None,
            registration: None,
        }
    }
}

/// Links the same files for each processor, and writes nothing but reports
/// unless all links succeed.
fn link_all(
    request: &Request,
    environment: &Environment,
    messages: &mut Messages,
) -> Result<Exit, Diagnostic> {
    let index = match &request.unified_index {
        Some(path) => Some(read_index(path, request.behaviour)?),
        None => None,
    };
    if request.behaviour == Behaviour::Nvlink
        && let Some(settings) = &request.link_time
        && let Some(folder) = &settings.nvvm
        && !folder.join("lib64/libnvvm.so").exists()
    {
        let text = "elfLink linker library load error";
        return Err(fatal("lto-failed", text));
    }
    // What is read does not depend on the processor.
    let (sm, name) = processor(&request.targets[0]);
    let files = Files::read(&wanted(request, sm, &name), environment);
    let mut outputs = Vec::new();
    let mut registration = None;
    let mut exit = Exit::Success;
    for target in &request.targets {
        if request.targets.len() > 1 {
            messages.report = Some(target.to_string());
        }
        let linked = link_one(
            request,
            target,
            index.as_ref(),
            &files,
            environment,
            messages,
        )?;
        if exit == Exit::Success {
            exit = linked.exit;
        }
        registration = registration.or(linked.registration);
        outputs.extend(linked.output.map(|output| (target, output)));
    }
    let registers = exit == Exit::Success || request.behaviour == Behaviour::Nvlink;
    if let (Some(path), Some(text)) = (&request.registration, registration.filter(|_| registers)) {
        output::write(path, text.as_bytes())?;
    }
    if exit == Exit::Success && !outputs.is_empty() {
        write_outputs(request, &outputs)?;
        write_dependencies(request, &files)?;
    }
    Ok(exit)
}

/// Reads the index of unified functions and variables.
fn read_index(path: &Path, behaviour: Behaviour) -> Result<UnifiedIndex, Diagnostic> {
    let unreadable = |what: &str| {
        let text = format!("Could not {what} '{}'", path.display());
        fatal("unreadable-input", text)
    };
    let bytes =
        std::fs::read(path).map_err(|why| unreadable("open input file").with_detail(why))?;
    if bytes.is_empty() {
        return Err(unreadable("read file").with_detail("it is empty"));
    }
    UnifiedIndex::parse(&path.to_string_lossy(), bytes)
        .map_err(|e| Diagnostic::bad_input(&e, keeping(behaviour)))
}

fn keeping(behaviour: Behaviour) -> Keeping {
    match behaviour {
        Behaviour::Nvlink => Keeping::AsNvlink,
        Behaviour::Own => Keeping::Reachable,
    }
}

/// The processor of a target, and its name in messages.
fn processor(target: &Target) -> (Sm, String) {
    match target {
        Target::Real(sm) => (*sm, sm.to_string()),
        // nvlink looks at the inputs all the same.
        Target::Virtual(name) => {
            let number = name.trim_start_matches("compute_");
            let sm = format!("sm_{number}").parse();
            (sm.unwrap_or(Sm::KNOWN[0]), name.clone())
        }
    }
}

fn wanted<'a>(request: &'a Request, target: Sm, target_name: &'a str) -> Wanted<'a> {
    Wanted {
        target,
        target_name,
        files: &request.files,
        libraries: &request.libraries,
        library_paths: &request.library_paths,
        keep_system_libraries: request.keep_system_libraries,
        registers_modules: request.registration.is_some(),
        kernels: &request.kernels,
        assembler: &request.assembler,
        link_time: request.link_time.is_some(),
        may_lack_arch: request.messages.hide_missing_arch,
        warnings_are_errors: request.messages.warnings_are_errors,
        behaviour: request.behaviour,
    }
}

fn link_one(
    request: &Request,
    target: &Target,
    index: Option<&UnifiedIndex>,
    files: &Files,
    environment: &Environment,
    messages: &Messages,
) -> Result<Linked, Diagnostic> {
    let (sm, name) = processor(target);
    let wanted = wanted(request, sm, &name);
    let mut diagnostics = Diagnostics::default();
    let loaded = inputs::load(files, &wanted, environment, &mut diagnostics);
    let failed = print_all(&diagnostics, messages);
    let Some(loaded) = loaded else {
        return Ok(Linked::ended(Exit::Fatal));
    };
    if failed {
        return Ok(Linked::ended(Exit::LinkError));
    }
    if let Target::Virtual(_) = target {
        return match sm.number {
            100.. => Err(fatal(
                "virtual-arch",
                "specified arch exceeds buffer length",
            )),
            _ => Ok(Linked::ended(Exit::Success)),
        };
    }
    let mut optimized = None;
    if let Some(settings) = &request.link_time
        && !loaded.intermediates.is_empty()
    {
        let mut said = Diagnostics::default();
        let made = link_time::link(request, settings, sm, &loaded, environment, &mut said);
        print_all(&said, messages);
        match made? {
            Made::Output(output) => {
                return Ok(Linked {
                    exit: Exit::Success,
                    output: Some(output),
                    registration: Some(inputs::registration(&loaded.modules)),
                });
            }
            Made::Object(object) => optimized = Some(object),
        }
    }
    let mut inputs: Vec<Input<'_>> = loaded.images.iter().map(Image::input).collect();
    inputs.extend(optimized.as_ref().map(|data| Input {
        name: link_time::OBJECT,
        data,
    }));
    let options = options(request, sm, index, &loaded)?;
    let outcome = crate::link(&inputs, &options);
    let failed = print_all(&outcome.diagnostics, messages);
    write_reports(request, target, &outcome.reports)?;
    let exit = match outcome.exit() {
        Exit::Success if failed => Exit::LinkError,
        exit => exit,
    };
    // nvlink leaves this file beside no image.
    let is_registered = match request.behaviour {
        Behaviour::Own => exit == Exit::Success,
        Behaviour::Nvlink => exit != Exit::Fatal,
    };
    if outcome.image.is_none() && request.behaviour == Behaviour::Own {
        for hint in loaded.hints {
            messages.print(hint);
        }
    }
    Ok(Linked {
        exit,
        output: outcome.image.filter(|_| exit == Exit::Success),
        registration: is_registered.then(|| inputs::registration(&loaded.modules)),
    })
}

fn options(
    request: &Request,
    target: Sm,
    index: Option<&UnifiedIndex>,
    loaded: &Loaded<'_>,
) -> Result<Options, Diagnostic> {
    let tool_record = match &request.tool_record {
        Some(path) => std::fs::read(path).map_err(|why| {
            fatal(
                "unreadable-tool-record",
                format!("Could not open the tool record '{}'", path.display()),
            )
            .with_detail(why)
        })?,
        None => Vec::new(),
    };
    Ok(Options {
        target,
        image: request.image,
        keeping: keeping(request.behaviour),
        kernels: loaded.kernels.clone(),
        debug: request.debug,
        resolved_relocations: request.resolved_relocations,
        verbose: request.verbose,
        call_graph: request.call_graph,
        odr: request.odr,
        reports: request.reports.clone(),
        unified_index: index.cloned(),
        tool_record,
    })
}

/// What stands in names of outputs for the processor.
pub(super) const ARCH: &str = "{arch}";

/// The name of an output for one processor.
fn path_for(path: &Path, target: &Target) -> PathBuf {
    match path.to_str() {
        Some(text) if text.contains(ARCH) => text.replace(ARCH, &target.to_string()).into(),
        Some(_) | None => path.to_owned(),
    }
}

/// Writes one file for each processor or, under a name that is the same for
/// all, one fatbin.
fn write_outputs(request: &Request, outputs: &[(&Target, Vec<u8>)]) -> Result<(), Diagnostic> {
    let is_named = request.output.to_str().is_some_and(|o| o.contains(ARCH));
    if let [(_, only)] = outputs
        && !is_named
    {
        return output::write(&request.output, only);
    }
    if is_named && request.behaviour == Behaviour::Own {
        for (target, data) in outputs {
            output::write(&path_for(&request.output, target), data)?;
        }
        return Ok(());
    }
    let images: Vec<LinkedImage<'_>> = outputs
        .iter()
        .map(|(target, data)| LinkedImage {
            sm: processor(target).0,
            data,
        })
        .collect();
    let fatbin = fatbin::write(&images, &FatbinOptions::default());
    let fatbin = fatbin.map_err(|error| fatal("bad-image", error.to_string()))?;
    output::write(&request.output, &fatbin)
}

/// Writes them for failed links, too: they help to see why.
fn write_reports(request: &Request, target: &Target, reports: &Reports) -> Result<(), Diagnostic> {
    let texts = [&reports.map, &reports.cross_references];
    match &request.map {
        Some(path) => {
            let parts: Vec<&str> = texts.into_iter().flatten().map(String::as_str).collect();
            if parts.is_empty() {
                return Ok(());
            }
            output::write(&path_for(path, target), parts.join("\n").as_bytes())
        }
        None => match &reports.cross_references {
            Some(text) => output::print(text).map(|_| ()),
            None => Ok(()),
        },
    }
}

fn write_dependencies(request: &Request, files: &Files) -> Result<(), Diagnostic> {
    let Some(path) = &request.dependencies else {
        return Ok(());
    };
    let beside = request.options_files.iter().chain(&request.tool_record);
    let mut inputs: Vec<String> = beside.map(|path| path.display().to_string()).collect();
    inputs.extend(files.names());
    let outputs: Vec<PathBuf> = match request.output.to_str() {
        Some(output) if output.contains(ARCH) => {
            let targets = request.targets.iter();
            targets.map(|t| path_for(&request.output, t)).collect()
        }
        Some(_) | None => vec![request.output.clone()],
    };
    output::write(path, depfile::rule(&outputs, &inputs).as_bytes())
}

/// Prints messages and says whether one of them is an error.
fn print_all(diagnostics: &Diagnostics, messages: &Messages) -> bool {
    let mut failed = false;
    for message in diagnostics.messages() {
        failed |= messages.print(message.clone());
    }
    failed
}
