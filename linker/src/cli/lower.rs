//! What was typed becomes what is done: every rule about several options at
//! once, in the order in which nvlink checks them.

mod link;

use std::fmt;
use std::num::NonZero;
use std::path::PathBuf;

use super::flags::Flag;
use super::link::ARCH;
use super::printer::{Format, Printer};
use super::typed::Typed;
use crate::arch::Sm;
use crate::codes;
use crate::device_link;
use crate::diagnostic::{Diagnostic, Filter, Severity};
use crate::host::script::BaseScript;
use crate::options::Behaviour;

pub(crate) use link::lower_link;

/// What the program is asked for.
#[derive(Debug)]
pub(crate) enum Command {
    /// The list of options.
    Help,
    /// The version.
    Version,
    /// What a message code means.
    Explain(String),
    /// A script for the host linker.
    HostScript(HostScript),
    /// A link.
    Link(Box<Request>),
}

/// A script for the host linker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HostScript {
    /// Where it goes, instead of the standard output.
    pub(crate) output: Option<PathBuf>,
    /// The host compiler whose own script it starts with; without one it only
    /// adds to another script.
    pub(crate) base: Option<BaseScript>,
}

/// What a link is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A processor.
    Real(Sm),
    /// A virtual processor. nvlink reads the inputs and writes nothing.
    Virtual(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real(sm) => sm.fmt(f),
            Self::Virtual(name) => f.write_str(name),
        }
    }
}

/// One link.
#[derive(Debug)]
pub(crate) struct Request {
    /// What it is for; more than one where the same files are linked for
    /// several processors.
    pub(crate) targets: Vec<Target>,
    /// What is linked, and how.
    pub(crate) link: device_link::Request,
    /// How many threads there may be, where that is said.
    pub(crate) threads: Option<NonZero<usize>>,
    /// Where the image goes, if there is one.
    pub(crate) output: PathBuf,
    /// Where nvlink looks for its optimizer of LTO-IR.
    pub(crate) nvvm: Option<PathBuf>,
    /// Where the names of the modules go.
    pub(crate) registration: Option<PathBuf>,
    /// Where the time goes.
    pub(crate) time: Option<PathBuf>,
    /// The index of unified functions and variables.
    pub(crate) unified_index: Option<PathBuf>,
    /// What the image has in `.nv.host`.
    pub(crate) host_data: Option<PathBuf>,
    /// Where the map goes.
    pub(crate) map: Option<PathBuf>,
    /// Where the call graph goes.
    pub(crate) dot: Option<PathBuf>,
    /// Where the names of the files go that were read.
    pub(crate) dependencies: Option<PathBuf>,
    /// Files that held arguments.
    pub(crate) options_files: Vec<PathBuf>,
    /// Holds the note about the linker.
    pub(crate) tool_record: Option<PathBuf>,
}

/// Decides what is done. Information about the options goes to `notes`.
pub(crate) fn lower(typed: &Typed, notes: &mut Vec<Diagnostic>) -> Result<Command, Diagnostic> {
    if typed.has(Flag::Help) {
        return Ok(Command::Help);
    }
    if typed.has(Flag::Version) {
        return Ok(Command::Version);
    }
    if let Some(code) = typed.text(Flag::Explain) {
        return Ok(Command::Explain(code.to_owned()));
    }
    if let Some(kind) = typed.text(Flag::HostLinkerScript) {
        return host_script(typed, kind).map(Command::HostScript);
    }
    let arch = typed.text(Flag::Arch).ok_or_else(|| missing_arch(typed))?;
    let behaviour = typed.behaviour();
    // For a virtual processor nvlink writes nothing.
    let is_written = behaviour == Behaviour::Own || arch.parse::<Sm>().is_ok();
    let output = match typed.path(Flag::Output) {
        None if is_written => {
            let text = "Must specify output file with -o option";
            return Err(Diagnostic::fatal(codes::MISSING_OUTPUT, text));
        }
        output => output.unwrap_or_default(),
    };
    if typed.inputs.is_empty() {
        return Err(Diagnostic::fatal(
            codes::NO_INPUT,
            "No input files specified; use option --help for more information",
        ));
    }
    let targets = targets(arch, behaviour)?;
    let mut link = link::link(typed, behaviour, notes)?;
    check_several(typed, &targets)?;
    let threads = threads(typed)?;
    if typed.has(Flag::PreserveRelocations) {
        let warning = partial_record(&targets, behaviour);
        link.inputs.options_failed = warning.is_some() && link.inputs.warnings_are_errors;
        notes.extend(warning);
    }
    link::check_api_version(typed)?;
    Ok(Command::Link(Box::new(Request {
        targets,
        link,
        threads,
        output,
        nvvm: typed.path(Flag::NvvmPath),
        registration: typed.path(Flag::RegisterLinkBinaries),
        time: typed.path(Flag::Time),
        unified_index: typed.path(Flag::UnifiedIndex),
        host_data: typed.path(Flag::NvHost),
        map: typed.path(Flag::Map),
        dot: typed.path(Flag::DotFile),
        dependencies: typed.path(Flag::DependencyFile),
        options_files: typed.options_files.clone(),
        tool_record: typed.path(Flag::ToolRecord),
    })))
}

fn missing_arch(typed: &Typed) -> Diagnostic {
    let missing = |text| Diagnostic::fatal(codes::MISSING_ARCH, text);
    if typed.behaviour() == Behaviour::Nvlink {
        return missing("Unknown arch name '(null)'");
    }
    let problem = missing("Must specify the processor with -arch=sm_NN");
    problem.with_detail(match typed.inputs.is_empty() {
        true => "--help lists all options",
        false => "`cargo cudalink inspect` shows what inputs have code for",
    })
}

/// What a link is for, each once.
fn targets(arch: &str, behaviour: Behaviour) -> Result<Vec<Target>, Diagnostic> {
    if behaviour == Behaviour::Nvlink {
        return Ok(vec![target(arch, behaviour)?]);
    }
    let mut targets = Vec::new();
    for arch in arch.split(',') {
        let target = target(arch, behaviour)?;
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// Whether warnings are errors; those that nvlink hides are none.
fn warnings_are_errors(typed: &Typed) -> bool {
    let hides_them = typed.behaviour() == Behaviour::Nvlink && typed.has(Flag::DisableInfos);
    typed.has(Flag::WarningAsError) && !hides_them
}

/// How many threads a link may have. Nothing and 0 leave it to the machine.
pub(crate) fn threads(typed: &Typed) -> Result<Option<NonZero<usize>>, Diagnostic> {
    let count = typed.number(Flag::Threads).unwrap_or_default();
    let count = usize::try_from(count).map_err(|_| {
        let text = format!("'{count}' is no number of threads");
        Diagnostic::fatal(codes::INVALID_VALUE, text)
    })?;
    Ok(NonZero::new(count))
}

/// Which messages the options ask for. nvlink prints warnings that it is asked to hide, and hides them where it is asked
/// to hide information, which it prints all the same.
pub(crate) fn filter(typed: &Typed) -> Filter {
    let behaviour = typed.behaviour();
    Filter {
        warnings_are_errors: warnings_are_errors(typed),
        hide_warnings: typed.has(match behaviour {
            Behaviour::Nvlink => Flag::DisableInfos,
            Behaviour::Own => Flag::DisableWarnings,
        }),
        hide_infos: typed.has(Flag::DisableInfos) && behaviour == Behaviour::Own,
        hide_unbounded_stack: typed.has(Flag::SuppressStackSizeWarning),
    }
}

/// How the options want messages to be printed.
pub(super) fn printer(typed: &Typed) -> Printer {
    Printer {
        filter: filter(typed),
        report: typed
            .text(Flag::Arch)
            .filter(|_| typed.has(Flag::ReportArch))
            .map(str::to_owned),
        format: match (typed.text(Flag::MessageFormat), typed.behaviour()) {
            (Some("json"), _) => Format::Json,
            (_, Behaviour::Nvlink) => Format::Nvlink,
            (_, Behaviour::Own) => Format::Own,
        },
    }
}

fn host_script(typed: &Typed, kind: &str) -> Result<HostScript, Diagnostic> {
    if !typed.inputs.is_empty() {
        return Err(Diagnostic::fatal(
            codes::SCRIPT_WITH_INPUT,
            "Input files are not allowed with -ghls option; use --help for more information",
        ));
    }
    let base = (kind == "lcs-abs").then(|| BaseScript {
        compiler: typed
            .path(Flag::HostCompiler)
            .unwrap_or_else(|| PathBuf::from("gcc")),
        shared: typed.has(Flag::Shared),
        relocatable: typed.has(Flag::Relocatable),
    });
    Ok(HostScript {
        output: typed.path(Flag::Output),
        base,
    })
}

fn target(arch: &str, behaviour: Behaviour) -> Result<Target, Diagnostic> {
    if let Ok(sm) = arch.parse() {
        return Ok(Target::Real(sm));
    }
    let nvlink = behaviour == Behaviour::Nvlink;
    if arch.starts_with("compute_") && nvlink {
        return Ok(Target::Virtual(arch.to_owned()));
    }
    let problem = |text| Err(Diagnostic::fatal(codes::VIRTUAL_ARCH, text));
    if nvlink {
        return problem(format!(
            "Link target of '{arch}' is virtual target that is not JIT-able; use 'sm_' target \
             instead"
        ));
    }
    let number = arch.split_once('_').map_or(arch, |(_, number)| number);
    let option = if arch.starts_with("lto_") {
        " and -dlto"
    } else {
        ""
    };
    problem(format!(
        "'{arch}' is no processor that a link can be for; use 'sm_{number}'{option} instead"
    ))
}

/// What several processors demand of the names of outputs.
fn check_several(typed: &Typed, targets: &[Target]) -> Result<(), Diagnostic> {
    if targets.len() == 1 {
        return Ok(());
    }
    let is_named = |flag| typed.text(flag).is_some_and(|path| path.contains(ARCH));
    let is_no_image = typed.has(Flag::Relocatable) || typed.has(Flag::EmitPtx);
    for (flag, is_needed) in [
        (Flag::Output, is_no_image),
        (Flag::Map, typed.has(Flag::Map)),
        (Flag::DotFile, typed.has(Flag::DotFile)),
    ] {
        if is_needed && !is_named(flag) {
            let name = flag.spelling().long;
            return Err(Diagnostic::fatal(
                codes::CONFLICTING_OPTIONS,
                format!("--{name} needs {ARCH} in its value where several processors are named"),
            ));
        }
    }
    Ok(())
}

/// Images for sm_100 and later record only uses of shared memory. nvlink warns
/// for sm_90, too.
fn partial_record(targets: &[Target], behaviour: Behaviour) -> Option<Diagnostic> {
    let newest = targets.iter().filter_map(|target| match target {
        Target::Real(sm) => Some((*sm, target)),
        Target::Virtual(name) => {
            let sm = name.replacen("compute", "sm", 1).parse();
            Some((sm.ok()?, target))
        }
    });
    let (sm, target) = newest.max_by_key(|(sm, _)| sm.number)?;
    let text = match behaviour {
        Behaviour::Nvlink if sm.is_hopper_or_newer() => format!(
            "Option '--preserve-relocs' is not fully implemented for gpu archtecture '{target}' \
             and may not work as expected"
        ),
        Behaviour::Own if sm.has_mercury() => {
            format!("option '--preserve-relocs' records only uses of shared memory for {sm}")
        }
        Behaviour::Nvlink | Behaviour::Own => return None,
    };
    let code = codes::PARTIAL_RELOCATION_RECORD;
    Some(Diagnostic::new(Severity::Warning, code, text))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::typed;
    use super::*;

    fn check(arguments: &str, expected: &str) {
        let arguments = arguments.split(' ').map(OsString::from).collect();
        let mut notes = Vec::new();
        let typed = typed::parse(arguments, &|_| Ok(Vec::new()), &mut notes).unwrap();
        let mut shown = match lower(&typed, &mut notes) {
            Err(error) => error.text,
            Ok(Command::Link(request)) => {
                format!("{:?} {:?}", request.targets[0], request.link.inputs.kernels)
            }
            Ok(other) => format!("{other:?}"),
        };
        for note in notes {
            shown = format!("{}: {shown}", note.code);
        }
        assert_eq!(shown, expected);
    }

    /// The order of the checks is that of nvlink 13.0.88.
    #[test]
    fn checks_in_order() {
        check("-V -h -ghls=lcs-aug", "Help");
        check("-V a.o", "Version");
        check(
            "-ghls=lcs-aug -lto",
            "HostScript(HostScript { output: None, base: None })",
        );
        check(
            "-ghls=lcs-aug a.o",
            "Input files are not allowed with -ghls option; use --help for more information",
        );
        check("--compat a.o", "Unknown arch name '(null)'");
        check("-arch=sm_90 a.o", "Must specify output file with -o option");
        check(
            "-arch=lto_90 --compat",
            "No input files specified; use option --help for more information",
        );
        check(
            "-arch=lto_90 a.o --compat",
            "Link target of 'lto_90' is virtual target that is not JIT-able; use 'sm_' target \
             instead",
        );
        check(
            "-arch=compute_90a a.o -o x",
            "'compute_90a' is no processor that a link can be for; use 'sm_90a' instead",
        );
        check(
            "-arch=lto_90 a.o -o x",
            "'lto_90' is no processor that a link can be for; use 'sm_90' and -dlto instead",
        );
        check(
            "-arch=sm_90 -o x -lto",
            "No input files specified; use option --help for more information",
        );
        check(
            "-arch=sm_90 -o x -lto a.o -suppress-debug-info",
            "Conflicting options '-suppress-debug-info' and 'no -g'",
        );
        check(
            "-arch=sm_90 -o x -lto a.o -dump-callgraph -dump-callgraph-no-demangle",
            "Conflicting options '-dump-callgraph' and '-dump-callgraph-no-demangle'",
        );
        check(
            "-arch=sm_90 -o x -lto a.o --compat",
            "-nvvmpath should be specified with -lto",
        );
        check(
            "-arch=sm_90 -o x a.o -Ofc=max -emit-ptx -force-partial-lto",
            "Conflicting options '-force-partial-lto' and 'no -dlto'",
        );
        check(
            "-arch=sm_90 -o x a.o -Ofc=max -emit-ptx",
            "Conflicting options '-emit-ptx' and 'no -dlto'",
        );
    }

    #[test]
    fn kernels_that_stay() {
        let sm_90 = "Real(Sm { number: 90, suffix: None })";
        check("-arch=sm_90 -o x a.o", &format!("{sm_90} NamedByHost"));
        check(
            "-arch=sm_90 -o x a.o -ignore-host-info",
            &format!("{sm_90} All"),
        );
        check(
            "-arch=sm_90 -o x a.o -use-host-info -kernels-used=a,b",
            &format!(
                "ignored-host-info: {sm_90} Containing {{ kernels: [\"a\", \"b\"], variables: [] }}"
            ),
        );
        check(
            "-arch=sm_90 -o x a.o -variables-used=v",
            &format!("{sm_90} Containing {{ kernels: [], variables: [\"v\"] }}"),
        );
        check(
            "-arch=sm_90 -o x a.o -nvvmpath=y",
            &format!("unused-option: {sm_90} NamedByHost"),
        );
    }
}
