//! One link from files to a file.

use std::time::Instant;

use super::flags::Flag;
use super::link_time::Made;
use super::lower::{self, Request, Target};
use super::messages::Messages;
use super::{Exit, depfile, fatal, link_time, output};
use crate::Input;
use crate::arch::Sm;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::inputs::{self, Behaviour, Environment, Files, Loaded, Wanted};
use crate::options::{Keeping, Options};
use crate::report::Reports;

/// Links, prints what there is to say and writes the files.
pub(super) fn link(
    request: &Request,
    environment: &Environment,
    messages: &mut Messages,
) -> Result<Exit, Diagnostic> {
    let start = Instant::now();
    let exit = link_files(request, environment, messages);
    if let Some(path) = &request.time {
        let row = (request.behaviour == Behaviour::Own).then(|| start.elapsed());
        output::append_time(path, request, row)?;
    }
    exit
}

fn link_files(
    request: &Request,
    environment: &Environment,
    messages: &mut Messages,
) -> Result<Exit, Diagnostic> {
    let (target, target_name) = match &request.target {
        Target::Real(sm) => (*sm, sm.to_string()),
        // nvlink looks at the inputs all the same.
        Target::Virtual(name) => {
            let number = name.trim_start_matches("compute_");
            let sm = format!("sm_{number}").parse();
            (sm.unwrap_or(Sm::KNOWN[0]), name.clone())
        }
    };
    let wanted = Wanted {
        target,
        target_name: &target_name,
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
    };
    if let Some(path) = &request.unified_index {
        return Err(match std::fs::File::open(path) {
            Ok(_) => lower::unsupported(Flag::UnifiedIndex),
            Err(why) => fatal(
                "unreadable-input",
                format!("Could not open input file '{}'", path.display()),
            )
            .with_detail(why),
        });
    }
    let files = Files::read(&wanted, environment);
    let mut diagnostics = Diagnostics::default();
    let loaded = inputs::load(&files, &wanted, environment, &mut diagnostics);
    let failed = print_all(&diagnostics, messages);
    let Some(loaded) = loaded else {
        return Ok(Exit::Fatal);
    };
    if failed {
        return Ok(Exit::LinkError);
    }
    if let Target::Virtual(_) = request.target {
        return match target.number {
            100.. => Err(fatal(
                "virtual-arch",
                "specified arch exceeds buffer length",
            )),
            _ => Ok(Exit::Success),
        };
    }

    let mut optimized = None;
    if let Some(settings) = &request.link_time
        && !loaded.intermediates.is_empty()
    {
        let mut said = Diagnostics::default();
        let made = link_time::link(request, settings, target, &loaded, environment, &mut said);
        print_all(&said, messages);
        match made? {
            Made::Output(output) => {
                write_registration(request, &loaded)?;
                output::write(&request.output, &output)?;
                write_dependencies(request, &files)?;
                return Ok(Exit::Success);
            }
            Made::Object(object) => optimized = Some(object),
        }
    }
    let mut inputs: Vec<Input<'_>> = loaded
        .images
        .iter()
        .map(|image| Input {
            name: &image.name,
            data: &image.data,
        })
        .collect();
    inputs.extend(optimized.as_ref().map(|data| Input {
        name: link_time::OBJECT,
        data,
    }));
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
    let options = Options {
        target,
        image: request.image,
        keeping: match request.behaviour {
            Behaviour::Nvlink => Keeping::AsNvlink,
            Behaviour::Own => Keeping::Reachable,
        },
        kernels: loaded.kernels.clone(),
        debug: request.debug,
        verbose: request.verbose,
        call_graph: request.call_graph,
        odr: request.odr,
        reports: request.reports.clone(),
        tool_record,
    };
    let outcome = crate::link(&inputs, &options);
    let failed = print_all(&outcome.diagnostics, messages);
    write_reports(request, &outcome.reports)?;
    // nvlink leaves this file beside no image.
    let is_registered = match request.behaviour {
        Behaviour::Own => !failed && outcome.image.is_some(),
        Behaviour::Nvlink => outcome.exit() != Exit::Fatal,
    };
    if is_registered {
        write_registration(request, &loaded)?;
    }
    match outcome.image {
        Some(image) if !failed => {
            output::write(&request.output, &image)?;
            write_dependencies(request, &files)?;
            Ok(Exit::Success)
        }
        Some(_) => Ok(Exit::LinkError),
        None => {
            if request.behaviour == Behaviour::Own {
                for hint in loaded.hints {
                    messages.print(hint);
                }
            }
            Ok(outcome_exit(&outcome.diagnostics))
        }
    }
}

fn write_registration(request: &Request, loaded: &Loaded<'_>) -> Result<(), Diagnostic> {
    match &request.registration {
        Some(path) => output::write(path, inputs::registration(&loaded.modules).as_bytes()),
        None => Ok(()),
    }
}

/// Writes them for failed links, too: they help to see why.
fn write_reports(request: &Request, reports: &Reports) -> Result<(), Diagnostic> {
    let texts = [&reports.map, &reports.cross_references];
    match &request.map {
        Some(path) => {
            let parts: Vec<&str> = texts.into_iter().flatten().map(String::as_str).collect();
            if parts.is_empty() {
                return Ok(());
            }
            output::write(path, parts.join("\n").as_bytes())
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
    output::write(path, depfile::rule(&request.output, &inputs).as_bytes())
}

fn outcome_exit(diagnostics: &Diagnostics) -> Exit {
    match diagnostics.has_fatal() {
        true => Exit::Fatal,
        false => Exit::LinkError,
    }
}

/// Prints messages and says whether one of them is an error.
fn print_all(diagnostics: &Diagnostics, messages: &Messages) -> bool {
    let mut failed = false;
    for message in diagnostics.messages() {
        failed |= messages.print(message.clone());
    }
    failed
}
