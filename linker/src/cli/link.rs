//! One link from files to a file, or to one for each of several processors.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::lower::{Request, Target};
use super::output::Pending;
use super::printer::Printer;
use super::{bounded, output};
use crate::arch::Sm;
use crate::codes;
use crate::cubin::UnifiedIndex;
use crate::device_link::{Job, One};
use crate::diagnostic::Diagnostic;
use crate::fatbin::{self, FatbinOptions, LinkedImage};
use crate::finalize::EMPTY_DOT;
use crate::inputs::{self, Compilation, Environment, Files, Installed, Module, Processor};
use crate::options::Behaviour;
use crate::output::{Clash, Named, clash, depfile, is_standard};
use crate::parallel;
use crate::raw_text;
use crate::report::Reports;
use crate::{Exit, Product};

/// What links take from the machine that they run on.
pub(super) struct Machine {
    environment: Environment,
    /// The same that the environment has.
    toolkit: Arc<Installed>,
}

impl Machine {
    /// That of this process.
    pub(super) fn of_process() -> Self {
        let toolkit = Arc::new(Installed::default());
        Self {
            environment: Environment::of_process(toolkit.clone()),
            toolkit,
        }
    }
}

/// Links, prints what there is to say and writes the files.
pub(super) fn link(
    mut request: Request,
    machine: &Machine,
    printer: &mut Printer,
) -> Result<Exit, Diagnostic> {
    let start = Instant::now();
    check_nvvm(&request)?;
    take_toolkit_of_nvvm(&mut request, &machine.environment);
    let files = Files::read(&request.link.inputs, &machine.environment);
    if request.link.inputs.behaviour == Behaviour::Own {
        check_outputs(&request, &files)?;
    }
    let table = request.time.as_deref();
    let table = table.map(|path| output::open_table(path, request.link.inputs.behaviour));
    let table = table.transpose();
    let table = table.inspect_err(|_| warn_of_libraries(&request, &files, printer))?;
    let mut compilations = Vec::new();
    let exit = link_timed(&mut request, files, machine, printer, &mut compilations);
    if let Some(table) = table {
        let rows = match request.link.inputs.behaviour {
            Behaviour::Own => output::time_of_link(&request, start.elapsed()),
            Behaviour::Nvlink => output::times(&request, &compilations),
        };
        output::append_times(table, &rows)?;
    }
    exit
}

fn link_timed(
    request: &mut Request,
    files: Files,
    machine: &Machine,
    printer: &mut Printer,
    compilations: &mut Vec<Compilation>,
) -> Result<Exit, Diagnostic> {
    if let Some(path) = &request.tool_record {
        request.link.settings.tool_record = bounded::read(path).map_err(|why| {
            Diagnostic::fatal(
                codes::UNREADABLE_TOOL_RECORD,
                format!("Could not open the tool record '{}'", path.display()),
            )
            .with_detail(why)
        })?;
    }
    let read = read_beside(request);
    read.inspect_err(|_| warn_of_libraries(request, &files, printer))?;
    link_all(request, files, machine, printer, compilations)
}

/// No input gives way to what is written, and each result has a file of its own.
fn check_outputs(request: &Request, files: &Files) -> Result<(), Diagnostic> {
    let mut outputs = Vec::new();
    for (option, path) in [
        ("-o", Some(&request.output)),
        ("--map", printed_or(request.map.as_ref())),
        ("--dot-file", graph_file(request)),
    ] {
        let of_targets = path.map(|path| request.targets.iter().map(|t| path_for(path, t)));
        let mut paths: Vec<PathBuf> = of_targets.into_iter().flatten().collect();
        // One for all processors is one file.
        paths.dedup();
        outputs.extend(paths.into_iter().map(|path| Named::new(option, path)));
    }
    for (option, path) in [
        ("--depfile", request.dependencies.as_ref()),
        ("--register-link-binaries", request.registration.as_ref()),
        ("--time", printed_or(request.time.as_ref())),
    ] {
        outputs.extend(path.map(|path| Named::new(option, path)));
    }
    let mut inputs = read_besides(request);
    inputs.extend(files.names());
    match clash(&outputs, &inputs) {
        Some(Clash { what, advice }) => {
            let text = format!("Output file {what}");
            Err(Diagnostic::fatal(codes::UNWRITABLE_OUTPUT, text).with_detail(advice))
        }
        None => Ok(()),
    }
}

/// The file of an option for which `-` is the standard output.
fn printed_or(path: Option<&PathBuf>) -> Option<&PathBuf> {
    path.filter(|path| !is_standard(path))
}

/// The file for the graph of calls, if it is not printed. For nvlink `-` is a file like any other.
fn graph_file(request: &Request) -> Option<&PathBuf> {
    match request.link.inputs.behaviour {
        Behaviour::Own => printed_or(request.dot.as_ref()),
        Behaviour::Nvlink => request.dot.as_ref(),
    }
}

/// The files that are read but not linked.
fn read_besides(request: &Request) -> Vec<String> {
    let files = request.options_files.iter().chain(&request.tool_record);
    let files = files.chain(&request.unified_index);
    let files = files.chain(&request.host_data);
    files.map(|path| raw_text::text(path.as_os_str())).collect()
}

/// nvlink looks for libraries before all else, and says then what it leaves out.
fn warn_of_libraries(request: &Request, files: &Files, printer: &Printer) {
    if request.link.inputs.behaviour == Behaviour::Nvlink {
        for warning in files.incompatible_libraries() {
            printer.print(warning);
        }
    }
}

/// Reads what the image has beside what is linked.
fn read_beside(request: &mut Request) -> Result<(), Diagnostic> {
    let behaviour = request.link.inputs.behaviour;
    if let Some(path) = &request.unified_index {
        let bytes = read_named(path, behaviour)?;
        let index = UnifiedIndex::parse(&raw_text::text(path.as_os_str()), bytes);
        let index = index.map_err(|error| Diagnostic::bad_input(&error, behaviour))?;
        request.link.settings.unified_index = Some(index);
    }
    if let Some(path) = &request.host_data {
        request.link.settings.host_data = Some(read_named(path, behaviour)?);
    }
    Ok(())
}

fn check_nvvm(request: &Request) -> Result<(), Diagnostic> {
    if request.link.inputs.behaviour == Behaviour::Nvlink
        && request.link.inputs.link_time.is_some()
        && let Some(folder) = &request.nvvm
        && !folder.join("lib64/libnvvm.so").exists()
    {
        let text = "elfLink linker library load error";
        return Err(Diagnostic::fatal(codes::LTO_FAILED, text));
    }
    Ok(())
}

/// Takes what compiles LTO-IR from the toolkit that the command line names,
/// unless it names the programs themselves.
fn take_toolkit_of_nvvm(request: &mut Request, environment: &Environment) {
    let inputs = &mut request.link.inputs;
    if let Some(link_time) = &mut inputs.link_time
        && link_time.library.is_none()
        && inputs.assembler.program.is_none()
        && let Some(folder) = &request.nvvm
        && let Some((library, assembler)) = Installed::around_nvvm(&environment.folder.join(folder))
    {
        link_time.library = Some(library);
        inputs.assembler.program = Some(assembler);
    }
}

/// What came of the links for all processors.
struct Results {
    exit: Exit,
    outputs: Vec<Output>,
    /// Call graphs, each in a file of its own.
    graphs: Vec<Pending>,
    modules: Option<Vec<Module>>,
}

/// Links the same files for each processor, and writes nothing but reports
/// unless all links succeed.
fn link_all(
    request: &Request,
    files: Files,
    machine: &Machine,
    printer: &mut Printer,
    compilations: &mut Vec<Compilation>,
) -> Result<Exit, Diagnostic> {
    let mut results = Results {
        exit: Exit::Success,
        outputs: Vec::new(),
        graphs: Vec::new(),
        modules: None,
    };
    for target in &request.targets {
        if request.targets.len() > 1 {
            printer.report = Some(target.to_string());
        }
        let linked = link_one(request, target, &files, machine, printer);
        compilations.extend(linked.compilations);
        write_reports(request, target, &linked.reports)?;
        if let Some(graph) = linked.reports.call_graph
            && linked.exit != Exit::Fatal
        {
            match graph_file(request) {
                Some(path) => {
                    let file = pending_text(request, path_for(path, target), graph);
                    results.graphs.push(file);
                }
                None => output::print(&raw_text::visible(&graph)).map(|_| ())?,
            }
        }
        if results.exit == Exit::Success {
            results.exit = linked.exit;
        }
        results.modules = results.modules.or(linked.modules);
        results.outputs.extend(linked.output);
    }
    results.write(request, files)
}

impl Results {
    /// Writes what there is to write, the images only if all links have succeeded.
    fn write(self, request: &Request, files: Files) -> Result<Exit, Diagnostic> {
        let behaviour = request.link.inputs.behaviour;
        let Self {
            exit,
            outputs,
            graphs,
            modules,
        } = self;
        // nvlink leaves this file beside no image.
        let registers = match behaviour {
            Behaviour::Own => exit == Exit::Success,
            Behaviour::Nvlink => exit != Exit::Fatal,
        };
        let registration = request.registration.as_ref();
        let registration = registration.zip(modules.filter(|_| registers));
        let registration = registration.map(|(path, modules)| {
            pending_text(request, path.clone(), inputs::registration(&modules))
        });
        if exit == Exit::Success && !outputs.is_empty() {
            for output in &outputs {
                if let Output::File(file) = output {
                    file.check()?;
                }
            }
            // nvlink writes the image first (case `bad_inputs`).
            if behaviour == Behaviour::Own {
                for file in graphs.iter().chain(&registration) {
                    file.check()?;
                }
            }
            let dependencies = dependencies(request, &files);
            if let Some(file) = &dependencies {
                file.check()?;
            }
            // Where an image takes the place of another one, the system forgets that one
            // meanwhile, which takes as long.
            let write = || write_outputs(request, outputs);
            let (written, ()) = parallel::both(files.size(), write, || drop(files));
            written?;
            if let Some(file) = dependencies {
                file.finish()?;
            }
        }
        if let Some(registration) = registration {
            registration.finish()?;
        }
        // nvlink writes them last, and for links that fail, too (case `dot_file`).
        for graph in graphs {
            graph.finish()?;
        }
        Ok(exit)
    }
}

fn pending_text(request: &Request, path: PathBuf, text: impl AsRef<[u8]>) -> Pending {
    let behaviour = request.link.inputs.behaviour;
    output::pending(path, behaviour, |out| out.write_all(text.as_ref()))
}

/// Reads a file that an option names, which nvlink does not take empty.
fn read_named(path: &Path, behaviour: Behaviour) -> Result<Vec<u8>, Diagnostic> {
    let unreadable = |what: &str| {
        let text = format!("Could not {what} '{}'", raw_text::text(path.as_os_str()));
        Diagnostic::fatal(codes::UNREADABLE_INPUT, text)
    };
    let bytes = bounded::read(path).map_err(|why| match (why.kind(), behaviour) {
        // A folder opens like a file, and says that it has no end.
        (ErrorKind::IsADirectory, Behaviour::Nvlink) => {
            Diagnostic::fatal(codes::UNREADABLE_INPUT, "Memory allocation failure")
        }
        _ => unreadable("open input file").with_detail(why),
    })?;
    if bytes.is_empty() {
        return Err(unreadable("read file").with_detail("it is empty"));
    }
    Ok(bytes)
}

/// The processor of a target. nvlink looks at the inputs of a link for a
/// virtual one all the same.
fn processor(target: &Target) -> Processor {
    match target {
        Target::Real(sm) => Processor::from(*sm),
        Target::Virtual(name) => {
            let number = name.trim_start_matches("compute_");
            let sm = format!("sm_{number}").parse();
            Processor {
                sm: sm.unwrap_or(Sm::KNOWN[0]),
                name: name.clone(),
                is_virtual: true,
            }
        }
    }
}

/// Links for one target, and prints the messages.
fn link_one(
    request: &Request,
    target: &Target,
    files: &Files,
    machine: &Machine,
    printer: &Printer,
) -> One<Output> {
    let job = Job {
        request: &request.link,
        files,
        environment: &machine.environment,
    };
    let processor = processor(target);
    let is_own = request.link.inputs.behaviour == Behaviour::Own;
    let warn_of_variables = || {
        let warnings = match is_own {
            true => machine.toolkit.take_ignored(),
            false => Vec::new(),
        };
        // All are printed, even if the first is an error.
        let failed = warnings.into_iter().map(|warning| printer.print(warning));
        failed.fold(false, |any, one| any | one)
    };
    // Nothing is reported before all inputs are loaded, for which a toolkit is looked for.
    let report = &mut |message| warn_of_variables() | printer.print(message);
    let mut one = match target {
        Target::Real(_) => job.link(&processor, report, |product| {
            output_of(request, target, product)
        }),
        Target::Virtual(_) => {
            let (loaded, compilations) = job.load(&processor, report);
            let (exit, modules) = match loaded {
                Ok(loaded) => (Exit::Success, Some(loaded.modules)),
                Err(exit) => (exit, None),
            };
            let writes_graph = request.dot.is_some() && exit == Exit::Success;
            One {
                reports: Reports {
                    call_graph: writes_graph.then(|| EMPTY_DOT.to_owned()),
                    ..Reports::default()
                },
                compilations,
                modules,
                ..One::ended(exit)
            }
        }
    };
    if warn_of_variables() && one.exit == Exit::Success {
        one.exit = Exit::LinkError;
        one.output = None;
    }
    one
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

/// What came of one link and waits for the others.
enum Output {
    /// A file of its own.
    File(Pending),
    /// An image of the fatbin.
    Image(Sm, Vec<u8>),
}

/// Each processor has a file or, under a name that is the same for several, an
/// image in one fatbin.
fn output_of(request: &Request, target: &Target, product: Product<'_>) -> Output {
    let is_named = request.output.to_str().is_some_and(|o| o.contains(ARCH));
    let has_own_file = match is_named {
        true => request.link.inputs.behaviour == Behaviour::Own,
        false => {
            let is_real = |target: &&Target| matches!(target, Target::Real(_));
            request.targets.iter().filter(is_real).count() == 1
        }
    };
    match has_own_file {
        true => {
            let path = path_for(&request.output, target);
            let behaviour = request.link.inputs.behaviour;
            let file = output::pending(path, behaviour, |out| product.write(out));
            if request.targets.len() == 1 {
                // The process ends soon, and then all memory goes at once.
                std::mem::forget(product);
            }
            Output::File(file)
        }
        false => Output::Image(processor(target).sm, product.into_bytes()),
    }
}

fn write_outputs(request: &Request, outputs: Vec<Output>) -> Result<(), Diagnostic> {
    let mut images = Vec::new();
    for output in outputs {
        match output {
            Output::File(file) => file.finish()?,
            Output::Image(sm, data) => images.push((sm, data)),
        }
    }
    if images.is_empty() {
        return Ok(());
    }
    let images: Vec<LinkedImage<'_>> = images
        .iter()
        .map(|(sm, data)| LinkedImage::new(*sm, data))
        .collect();
    let fatbin = fatbin::write(&images, &FatbinOptions::default());
    let fatbin = fatbin.map_err(|error| Diagnostic::fatal(codes::BAD_IMAGE, error.to_string()))?;
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
            let text = parts.join("\n");
            match is_standard(path) {
                true => output::print(&raw_text::visible(&text)).map(|_| ()),
                false => output::write(&path_for(path, target), text.as_bytes()),
            }
        }
        None => match &reports.cross_references {
            Some(text) => output::print(&raw_text::visible(text)).map(|_| ()),
            None => Ok(()),
        },
    }
}

/// The rule that names what the outputs were made from.
fn dependencies(request: &Request, files: &Files) -> Option<Pending> {
    let path = request.dependencies.as_ref()?;
    let mut inputs = read_besides(request);
    inputs.extend(files.names());
    let outputs: Vec<PathBuf> = match request.output.to_str() {
        Some(output) if output.contains(ARCH) => {
            let targets = request.targets.iter();
            targets.map(|t| path_for(&request.output, t)).collect()
        }
        Some(_) | None => vec![request.output.clone()],
    };
    let rule = depfile::rule(&outputs, &inputs);
    Some(pending_text(request, path.clone(), rule))
}
