//! What is linked, and how: the part of the command line that does not depend
//! on the processors and the outputs.

use std::path::PathBuf;

use super::super::flags::Flag;
use super::super::tool_record;
use super::super::typed::Typed;
use crate::codes;
use crate::device_link;
use crate::diagnostic::{Diagnostic, Severity};
use crate::inputs::{Archives, Assembler, Kernels, Limits, LinkTime, Scope, Wanted};
use crate::options::{
    Behaviour, DebugLevel, EarlyAddresses, ImageKind, Names, NullAddress, Odr, RelocationForms,
    Reservation, ReservedNumbers, ResolvedRelocations, Settings, SharedLimit, SharedMemory,
    UndefinedGlobals,
};
use crate::raw_text;
use crate::report;

/// What the options say about a link.
pub(super) fn link(
    typed: &Typed,
    behaviour: Behaviour,
    notes: &mut Vec<Diagnostic>,
) -> Result<device_link::Request, Diagnostic> {
    check_conflicts(typed)?;
    let kernels = kernels(typed, notes);
    check_link_time(typed, behaviour)?;
    if behaviour == Behaviour::Own {
        notes.extend(unused(typed));
    }
    let inputs = Wanted {
        files: typed.inputs.clone(),
        libraries: texts(typed, Flag::Library),
        library_paths: typed.all(Flag::LibraryPath).map(PathBuf::from).collect(),
        host_machine: host_machine(typed, behaviour),
        archives: match typed.text(Flag::Archive) {
            Some("lazy") => Archives::InOrder,
            Some("group") => Archives::Grouped,
            Some(_) | None => Archives::Whole,
        },
        keep_system_libraries: typed.has(Flag::KeepSystemLibraries),
        registers_modules: typed.has(Flag::RegisterLinkBinaries),
        kernels,
        assembler: assembler(typed, behaviour),
        link_time: is_link_time(typed).then(|| link_time(typed, notes)),
        may_lack_arch: typed.has(Flag::SuppressArchWarning),
        // Only nvcc asks for that.
        may_be_empty: typed.has(Flag::RegisterLinkBinaries),
        warnings_are_errors: super::warnings_are_errors(typed),
        options_failed: false,
        behaviour,
    };
    Ok(device_link::Request {
        inputs,
        settings: settings(typed, behaviour),
    })
}

/// What is made of the inputs.
fn settings(typed: &Typed, behaviour: Behaviour) -> Settings {
    Settings {
        image: match (typed.has(Flag::Relocatable), behaviour) {
            (false, _) => ImageKind::Executable,
            (true, Behaviour::Own) => ImageKind::Relocatable(EarlyAddresses::Leave),
            (true, Behaviour::Nvlink) => ImageKind::Relocatable(EarlyAddresses::Fill),
        },
        debug: match (typed.has(Flag::Debug), typed.has(Flag::SuppressDebugInfo)) {
            (false, _) => DebugLevel::None,
            (true, true) => DebugLevel::Code,
            (true, false) => DebugLevel::Symbols,
        },
        resolved_relocations: match typed.has(Flag::PreserveRelocations) {
            true => ResolvedRelocations::Recorded,
            false => ResolvedRelocations::Dropped,
        },
        relocation_forms: match typed.has(Flag::ForceRela) {
            true => RelocationForms::WithAddends,
            false => RelocationForms::AsInputs,
        },
        shared_memory: shared_memory(typed),
        undefined_globals: match typed.has(Flag::AllowUndefinedGlobals) {
            true => UndefinedGlobals::Allowed,
            false => UndefinedGlobals::Refused,
        },
        reserved_numbers: match behaviour {
            Behaviour::Own => ReservedNumbers::Extended,
            Behaviour::Nvlink => ReservedNumbers::Bare,
        },
        verbose: typed.has(Flag::Verbose),
        call_graph: call_graph(typed, behaviour),
        odr: match (typed.text(Flag::Odr), behaviour) {
            (Some("error"), _) => Odr::Error,
            (Some("warn"), _) => Odr::Warn,
            (Some("data"), _) | (None, Behaviour::Own) => Odr::Data,
            (Some(_), _) | (None, Behaviour::Nvlink) => Odr::Off,
        },
        reports: reports(typed),
        unified_index: None,
        host_data: None,
        tool_record: match is_true(typed, Flag::VerboseToolRecord) {
            true => tool_record::of_command_line(typed),
            false => Vec::new(),
        },
    }
}

fn shared_memory(typed: &Typed) -> SharedMemory {
    SharedMemory {
        reservation: match is_true(typed, Flag::DisableSharedReservation) {
            true => Reservation::Disabled,
            false => Reservation::Made,
        },
        limit: match is_true(typed, Flag::ExtendedShared) {
            true => SharedLimit::Processor,
            false => SharedLimit::Launch,
        },
        null: match typed.has(Flag::ReserveNullPointer) {
            true => NullAddress::Reserved,
            false => NullAddress::Used,
        },
    }
}

/// What is told beside the image.
fn reports(typed: &Typed) -> report::Requested {
    report::Requested {
        map: typed.has(Flag::Map),
        call_graph: typed.has(Flag::DotFile),
        cross_references: typed.has(Flag::CrossReferences),
        uncalled: typed.has(Flag::ExtraWarnings),
        why_live: texts(typed, Flag::WhyLive),
    }
}

/// The machine that libraries are for, by its number in ELF files. nvlink takes its own where none is named.
fn host_machine(typed: &Typed, behaviour: Behaviour) -> Option<object::elf::Machine> {
    use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_X86_64};
    match typed.text(Flag::CpuArch) {
        Some("X86_64") => Some(EM_X86_64),
        Some("X86") => Some(EM_386),
        Some("AARCH64") => Some(EM_AARCH64),
        Some("ARMv7") => Some(EM_ARM),
        Some("PPC64LE") => Some(EM_PPC64),
        _ if behaviour == Behaviour::Own => None,
        _ if cfg!(target_arch = "aarch64") => Some(EM_AARCH64),
        _ => Some(EM_X86_64),
    }
}

/// Options that say what a command knows that only has some for its links.
const OF_COMMAND: &[Flag] = &[
    Flag::Arch,
    Flag::Compat,
    Flag::CrossReferences,
    Flag::DependencyFile,
    Flag::DotFile,
    Flag::EmitPtx,
    Flag::Explain,
    Flag::Help,
    Flag::HostLinkerScript,
    Flag::Map,
    Flag::MessageFormat,
    Flag::NvHost,
    Flag::Output,
    Flag::RegisterLinkBinaries,
    Flag::Relocatable,
    Flag::Time,
    Flag::ToolRecord,
    Flag::UnifiedIndex,
    Flag::VerboseToolRecord,
    Flag::Version,
];

/// Decides what a link does whose processors and output are named elsewhere.
pub(crate) fn lower_link(
    typed: &Typed,
    notes: &mut Vec<Diagnostic>,
) -> Result<device_link::Request, Diagnostic> {
    if let Some(flag) = OF_COMMAND.iter().find(|flag| typed.has(**flag)) {
        let name = flag.spelling().long;
        let text = format!("option '--{name}' is for a link by `rustnvlink` itself");
        return Err(Diagnostic::fatal(codes::MISPLACED_OPTION, text));
    }
    let mut request = link(typed, Behaviour::Own, notes)?;
    check_api_version(typed)?;
    request.inputs.registers_modules = true;
    Ok(request)
}

/// Without named kernels, nvlink takes named variables to mean that no kernel
/// is used. The case `kernels_used` shows it.
fn kernels(typed: &Typed, notes: &mut Vec<Diagnostic>) -> Kernels {
    if typed.has(Flag::KernelsUsed) || typed.has(Flag::VariablesUsed) {
        if typed.has(Flag::UseHostInfo) {
            notes.push(Diagnostic::new(
                Severity::Info,
                codes::IGNORED_HOST_INFO,
                "ignore -use-host-info because -kernels-used or -variables-used is specified",
            ));
        }
        return Kernels::Containing {
            kernels: texts(typed, Flag::KernelsUsed),
            variables: texts(typed, Flag::VariablesUsed),
        };
    }
    if typed.has(Flag::IgnoreHostInfo) {
        Kernels::All
    } else {
        Kernels::NamedByHost
    }
}

/// For nvlink both options are one (case `demangle`).
fn call_graph(typed: &Typed, behaviour: Behaviour) -> Option<Names> {
    let mangled = match behaviour {
        Behaviour::Own => Names::Mangled,
        Behaviour::Nvlink => Names::Readable,
    };
    if typed.has(Flag::DumpCallGraphNoDemangle) {
        Some(mangled)
    } else if typed.has(Flag::DumpCallGraph) {
        Some(Names::Readable)
    } else {
        None
    }
}

fn check_conflicts(typed: &Typed) -> Result<(), Diagnostic> {
    if typed.has(Flag::SuppressDebugInfo) && !typed.has(Flag::Debug) {
        return conflict("-suppress-debug-info", "no -g");
    }
    if typed.has(Flag::UseHostInfo) && typed.has(Flag::IgnoreHostInfo) {
        return conflict("-use-host-info", "-ignore-host-info");
    }
    if typed.has(Flag::DumpCallGraph) && typed.has(Flag::DumpCallGraphNoDemangle) {
        return conflict("-dump-callgraph", "-dump-callgraph-no-demangle");
    }
    Ok(())
}

/// The version of the runtime library changes nothing, but has to be right.
pub(super) fn check_api_version(typed: &Typed) -> Result<(), Diagnostic> {
    const MAJOR: i128 = 13;
    let Some(version) = typed.text(Flag::CudaApiVersion) else {
        return Ok(());
    };
    let numbers = version.split_once('.');
    let number = |text: &str| text.trim_ascii_start().parse::<i128>().ok();
    let numbers = numbers.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
    let problem = match numbers {
        Some((MAJOR, 0..)) => return Ok(()),
        Some((major, _)) if major != MAJOR => "major number must be == toolkit version",
        _ => "value cannot be parsed",
    };
    let text = format!("--cuda-api-version {problem}");
    Err(Diagnostic::fatal(codes::INVALID_VALUE, text))
}

/// Options that go with link-time optimization, or do not.
fn check_link_time(typed: &Typed, behaviour: Behaviour) -> Result<(), Diagnostic> {
    if is_link_time(typed) {
        if !typed.has(Flag::NvvmPath) && behaviour == Behaviour::Nvlink {
            return Err(Diagnostic::fatal(
                codes::MISSING_NVVM_PATH,
                "-nvvmpath should be specified with -lto",
            ));
        }
        return Ok(());
    }
    for (flag, option) in [
        (Flag::ForcePartialLto, "-force-partial-lto"),
        (Flag::EmitPtx, "-emit-ptx"),
        (Flag::FastCompile, "--Ofast-compile"),
    ] {
        if typed.has(flag) {
            return conflict(option, "no -dlto");
        }
    }
    Ok(())
}

fn conflict(one: &str, other: &str) -> Result<(), Diagnostic> {
    Err(Diagnostic::fatal(
        codes::CONFLICTING_OPTIONS,
        format!("Conflicting options '{one}' and '{other}'"),
    ))
}

fn is_link_time(typed: &Typed) -> bool {
    typed.has(Flag::LinkTimeOptimization) || typed.has(Flag::LinkTimeOptimizationAlias)
}

fn is_true(typed: &Typed, flag: Flag) -> bool {
    typed.text(flag) == Some("true")
}

fn link_time(typed: &Typed, notes: &mut Vec<Diagnostic>) -> LinkTime {
    let nvvm = texts(typed, Flag::NvvmOptions);
    let mut options: Vec<String> = nvvm.iter().map(|o| format!("-Xnvvm={o}")).collect();
    // The library knows the short name alone.
    if let Some(effort) = typed.text(Flag::FastCompile) {
        options.push(format!("-Ofc={effort}"));
    }
    if typed.has(Flag::Debug) {
        options.push("-g".to_owned());
    }
    // One is what there is without it.
    let threads = typed.number(Flag::SplitCompileExtended);
    let mut threads = threads.filter(|count| *count != 1);
    if typed.has(Flag::EmitPtx) && threads.is_some() {
        threads = None;
        let text = "Incompatible options '-emit-ptx' and '-split-compile-extended', using '-split-compile'";
        notes.push(Diagnostic::new(
            Severity::Info,
            codes::CONFLICTING_OPTIONS,
            text,
        ));
    }
    LinkTime {
        library: typed.path(Flag::NvJitLink),
        options,
        threads,
        emit_ptx: typed.has(Flag::EmitPtx),
        scope: match typed.has(Flag::Relocatable) || typed.has(Flag::ForcePartialLto) {
            true => Scope::Part,
            false => Scope::Program,
        },
    }
}

/// The arguments stand in an order in which those of the link win.
fn assembler(typed: &Typed, behaviour: Behaviour) -> Assembler {
    // nvcc puts several into one, with blanks between them.
    let several = texts(typed, Flag::PtxasOptions);
    let words = several.iter().flat_map(|text| text.split_whitespace());
    let mut arguments: Vec<String> = words.map(str::to_owned).collect();
    for flag in [Flag::DeviceStackProtector, Flag::FastCompile] {
        let is_said = |value: &&str| flag != Flag::FastCompile || *value != "0";
        if let Some(value) = typed.text(flag).filter(is_said) {
            arguments.push(format!("--{}={value}", flag.spelling().long));
        }
    }
    if let Some(version) = typed.text(Flag::CudaApiVersion)
        && behaviour == Behaviour::Nvlink
        && version != "13.0"
    {
        arguments.push(format!("--cuda-api-version={version}"));
    }
    if typed.has(Flag::Debug) && !typed.has(Flag::SuppressDebugInfo) {
        arguments.push("-g".to_owned());
    }
    Assembler {
        program: typed.path(Flag::Ptxas),
        arguments,
        limits: Limits {
            registers: typed.number(Flag::MaxRegisters),
            threads: typed.number(Flag::SplitCompile),
        },
        unspeakable: unspeakable(typed).filter(|_| behaviour == Behaviour::Nvlink),
    }
}

/// An option for the assembler that nvlink has no room for: three characters, or four of the version.
fn unspeakable(typed: &Typed) -> Option<&'static str> {
    let number = |flag| typed.number(flag);
    if number(Flag::MaxRegisters).is_some_and(|number| number > 999) {
        return Some("-maxrregcount");
    }
    if typed
        .text(Flag::CudaApiVersion)
        .is_some_and(|version| version.len() > 4)
    {
        return Some("-cuda-api-version");
    }
    let threads = number(Flag::SplitCompile);
    let has_room = threads.is_none_or(|threads| (-99..=999).contains(&threads));
    (!has_room).then_some("-split-compile")
}

/// Options that mean nothing without others.
fn unused(typed: &Typed) -> impl Iterator<Item = Diagnostic> {
    [
        Flag::NvvmPath,
        Flag::NvvmOptions,
        Flag::SplitCompileExtended,
        Flag::NvJitLink,
    ]
    .into_iter()
    .filter(|flag| typed.has(*flag) && !is_link_time(typed))
    .map(|flag| {
        let name = flag.spelling().long;
        Diagnostic::new(
            Severity::Warning,
            codes::UNUSED_OPTION,
            format!("option '--{name}' has no effect without link-time optimization"),
        )
    })
}

fn texts(typed: &Typed, flag: Flag) -> Vec<String> {
    typed.all(flag).map(raw_text::text).collect()
}
