//! Every option of the command line: its spellings, its kind of value, and
//! what `--help` says about it.

/// An option, whatever its spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the table below describes each")]
#[non_exhaustive]
pub enum Flag {
    AllowUndefinedGlobals,
    Arch,
    Archive,
    Compat,
    CpuArch,
    CudaApiVersion,
    CrossReferences,
    Debug,
    DependencyFile,
    DeviceStackProtector,
    DisableInfos,
    DisableSharedReservation,
    DisableWarnings,
    DotFile,
    DumpCallGraph,
    DumpCallGraphNoDemangle,
    EmitPtx,
    Explain,
    ExtendedShared,
    ExtraWarnings,
    FastCompile,
    ForcePartialLto,
    ForceRela,
    Help,
    HostCompiler,
    HostLinkerScript,
    IgnoreHostInfo,
    KeepSystemLibraries,
    KernelsUsed,
    Library,
    LibraryPath,
    LinkTimeOptimization,
    LinkTimeOptimizationAlias,
    Machine,
    Map,
    MaxRegisters,
    MessageFormat,
    NvHost,
    NvJitLink,
    NvvmOptions,
    NvvmPath,
    Odr,
    OptionsFile,
    Output,
    PreserveRelocations,
    Ptxas,
    PtxasOptions,
    RegisterLinkBinaries,
    ReserveNullPointer,
    Relocatable,
    ReportArch,
    Shared,
    SplitCompile,
    SplitCompileExtended,
    SuppressArchWarning,
    SuppressDebugInfo,
    SuppressStackSizeWarning,
    SyscallConstOffset,
    Threads,
    Time,
    ToolRecord,
    UnifiedIndex,
    Uumn,
    UseHostInfo,
    VariablesUsed,
    Verbose,
    VerboseToolRecord,
    Version,
    WarningAsError,
    WhyLive,
    XLinker,
}

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Nothing may.
    Nothing,
    /// Any text or file name.
    Text,
    /// Any text; repeating the option adds another.
    Texts,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// One of the names of [`crate::arch::Sm::KNOWN`], as real, virtual or
    /// LTO processor.
    Processor,
    /// A whole number.
    Number,
    /// The number 64.
    SixtyFour,
    /// `true` or `false`.
    Truth,
    /// Texts with commas between them; repeating the option adds to the list.
    List,
}

/// Where `--help` shows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// What goes in and comes out.
    Files,
    /// What is linked and how.
    Linking,
    /// What is removed.
    DeadCode,
    /// What is printed.
    Messages,
    /// What nvlink does not have.
    Ours,
    /// Options of nvlink for link-time optimization.
    LinkTime,
    /// What nvlink accepts and does not describe.
    Hidden,
}

impl Group {
    /// What `--help` writes above the options of the group.
    pub fn title(self) -> &'static str {
        match self {
            Self::Files => "Files",
            Self::Linking => "Linking",
            Self::DeadCode => "What is kept",
            Self::Messages => "Messages",
            Self::Ours => "Options that nvlink does not have",
            Self::LinkTime => "Link-time optimization",
            Self::Hidden => "Others",
        }
    }
}

/// One option.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Spelling {
    /// Which option it is.
    pub flag: Flag,
    /// The name behind two dashes.
    pub long: &'static str,
    /// The name behind one dash.
    pub short: Option<&'static str>,
    /// Whether a value may follow the short name without anything between.
    pub joined: bool,
    /// The value that stands for none, where another option or nothing follows.
    pub implied: Option<&'static str>,
    /// What follows it.
    pub value: Value,
    /// What `--help` calls its value.
    pub placeholder: &'static str,
    /// Where `--help` shows it.
    pub group: Group,
    /// What `--help` says.
    pub help: &'static str,
}

/// A switch whose short name is its long one, and that `--help` says nothing about; what differs follows.
const fn option(flag: Flag, long: &'static str, group: Group) -> Spelling {
    Spelling {
        flag,
        long,
        short: Some(long),
        joined: false,
        implied: None,
        value: Value::Nothing,
        placeholder: "",
        group,
        help: "",
    }
}

impl Spelling {
    /// It has this name behind one dash.
    const fn short(self, name: &'static str) -> Self {
        Self {
            short: Some(name),
            ..self
        }
    }

    /// It has no name behind one dash.
    const fn long_only(self) -> Self {
        Self {
            short: None,
            ..self
        }
    }

    /// A value follows it, which `--help` calls so.
    const fn takes(self, value: Value, placeholder: &'static str) -> Self {
        Self {
            value,
            placeholder,
            ..self
        }
    }

    /// The value may follow the short name without anything between.
    const fn joined(self) -> Self {
        Self {
            joined: true,
            ..self
        }
    }

    /// This value stands for none.
    const fn implying(self, value: &'static str) -> Self {
        Self {
            implied: Some(value),
            ..self
        }
    }

    /// `--help` says this.
    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }
}

const ARCHIVES: &[&str] = &["whole", "lazy", "group"];
const HOSTS: &[&str] = &["AARCH64", "ARMv7", "PPC64LE", "X86", "X86_64", "unknown"];
const ODR: &[&str] = &["off", "data", "warn", "error"];
const FORMATS: &[&str] = &["text", "json"];
const SCRIPTS: &[&str] = &["lcs-abs", "lcs-aug"];

/// All options, in the order in which `--help` shows them.
#[rustfmt::skip]
pub const FLAGS: &[Spelling] = {
    use {Flag as F, Group as G, Value as V};
    &[
        option(F::Arch, "arch", G::Files).takes(V::Processor, "sm_NN,..").help(
            "The processor to link for, such as sm_90 or sm_100a, or several of them. Required."),
        option(F::Output, "output-file", G::Files).short("o").takes(V::Text, "FILE").help(
            "Where the linked image goes. Required. With several processors it is a fatbin, or one \
             file for each where {arch} stands in the name."),
        option(F::Library, "library", G::Files).short("l").takes(V::List, "NAME,..").joined().help(
            "Links libNAME.a. Libraries come after all other inputs."),
        option(F::LibraryPath, "library-path", G::Files).short("L").takes(V::List, "DIR,..").joined().help(
            "Folders to look for libraries in; LIBRARY_PATH names more."),
        option(F::OptionsFile, "options-file", G::Files).short("optf").takes(V::List, "FILE,..").help(
            "Reads further arguments from files."),
        option(F::RegisterLinkBinaries, "register-link-binaries", G::Files).long_only().takes(V::Text, "FILE").help(
            "Writes the names of the linked modules for the host stub."),
        option(F::HostLinkerScript, "gen-host-linker-script", G::Files)
            .short("ghls").takes(V::Choice(SCRIPTS), "lcs-abs|lcs-aug").implying("lcs-abs").help(
            "Prints a host linker script that keeps device code out of the way of host code, \
             or writes it to the output file. Without a value it is lcs-abs."),
        option(F::UnifiedIndex, "uidx-file", G::Files).short("uidx").takes(V::Text, "FILE").help(
            "The index of unified functions and variables."),

        option(F::Relocatable, "relocatable-link", G::Linking).short("r").help(
            "Makes an object that can be linked again."),
        option(F::Debug, "debug", G::Linking).short("g").help(
            "Keeps code that no kernel needs, and symbols that only debuggers read."),
        option(F::SuppressDebugInfo, "suppress-debug-info", G::Linking).help(
            "Drops those symbols again, not the code; only with -g."),
        option(F::PreserveRelocations, "preserve-relocs", G::Linking).help(
            "Keeps resolved relocations in the image."),
        option(F::Machine, "machine", G::Linking).short("m").takes(V::SixtyFour, "64").joined().help(
            "The width of addresses; 64 is the only one."),
        option(F::CpuArch, "cpu-arch", G::Linking).takes(V::Choice(HOSTS), "NAME").help(
            "The host processor: libraries for other ones are left out."),
        option(F::DeviceStackProtector, "device-stack-protector", G::Linking).takes(V::Truth, "true|false").help(
            "Stack protectors in code that is compiled during the link."),
        option(F::MaxRegisters, "maxrregcount", G::Linking).takes(V::Number, "N").help(
            "Registers for code that is compiled during the link."),
        option(F::PtxasOptions, "Xptxas", G::Linking).takes(V::List, "OPTION,..").help(
            "Options for code that is compiled during the link."),
        option(F::ExtendedShared, "enable-extended-smem", G::Linking).takes(V::Truth, "true|false").help(
            "Lets kernels have as much shared memory of fixed size as the processor has."),
        option(F::DisableSharedReservation, "disable-smem-reservation", G::Linking).takes(V::Truth, "true|false").help(
            "Reserves no shared memory for the system, which sm_90 and later do."),
        option(F::ReserveNullPointer, "reserve-null-pointer", G::Linking).help(
            "Puts no variable at address 0 of shared memory."),
        option(F::AllowUndefinedGlobals, "allow-undefined-globals", G::Linking).help(
            "Leaves variables in global memory that nobody defines to the driver."),
        option(F::ForceRela, "force-rela", G::Linking).help(
            "Gives all relocations an addend, which sm_90 and later have anyway."),
        option(F::NvHost, "nv-host", G::Linking).takes(V::Text, "FILE").help(
            "Puts a file into the image, as section .nv.host."),
        option(F::VerboseToolRecord, "verbose-tkinfo", G::Linking).takes(V::Truth, "true|false").help(
            "Records inputs and options of the link in the image."),

        option(F::IgnoreHostInfo, "ignore-host-info", G::DeadCode).help(
            "Keeps kernels that no host code names."),
        option(F::UseHostInfo, "use-host-info", G::DeadCode).help(
            "Removes kernels that no host code names; the default."),
        option(F::KernelsUsed, "kernels-used", G::DeadCode).takes(V::List, "TEXT,..").help(
            "Keeps only kernels whose names, as objects have them, contain one of the texts; * is any run of characters."),
        option(F::VariablesUsed, "variables-used", G::DeadCode).takes(V::List, "TEXT,..").help(
            "Keeps only variables whose names contain one of the texts. Without -kernels-used it \
             removes all kernels."),
        option(F::KeepSystemLibraries, "keep-system-libraries", G::DeadCode).help(
            "Links libcudadevrt.a even where nothing needs it."),

        option(F::Verbose, "verbose", G::Messages).short("v").help(
            "Prints the resources that each kernel uses."),
        option(F::DumpCallGraph, "dump-callgraph", G::Messages).help(
            "Prints which function calls which."),
        option(F::DumpCallGraphNoDemangle, "dump-callgraph-no-demangle", G::Messages).help(
            "The same with the names that objects use."),
        option(F::DotFile, "dot-file", G::Messages).short("dot").takes(V::Text, "FILE").help(
            "Writes which function calls which as a graph for dot; - prints it."),
        option(F::WarningAsError, "warning-as-error", G::Messages).short("Werror").help(
            "Makes warnings errors."),
        option(F::DisableWarnings, "disable-warnings", G::Messages).short("w").help(
            "Prints no warnings."),
        option(F::DisableInfos, "disable-infos", G::Messages).help(
            "Prints no information."),
        option(F::ExtraWarnings, "extra-warnings", G::Messages).short("extrawarn").help(
            "Warns of functions whose address is taken and that nothing calls, too."),
        option(F::SuppressArchWarning, "suppress-arch-warning", G::Messages).help(
            "Does not warn of objects without code for the processor."),
        option(F::SuppressStackSizeWarning, "suppress-stack-size-warning", G::Messages).help(
            "Does not warn of kernels whose stack size is unknown."),
        option(F::ReportArch, "report-arch", G::Messages).help(
            "Names the processor in messages about inputs."),
        option(F::Time, "time", G::Messages).takes(V::Text, "FILE").help(
            "Appends how long the link took to a table; `-` is the standard output."),
        option(F::Version, "version", G::Messages).short("V").help(
            "Prints the version."),
        option(F::Help, "help", G::Messages).short("h").help(
            "Prints this text."),

        option(F::Compat, "compat", G::Ours).help(
            "Does exactly what nvlink 13.0 does: its messages, its silence about inputs it \
             ignores, and its bytes where they differ from ours."),
        option(F::Archive, "archive", G::Ours).takes(V::Choice(ARCHIVES), "whole|lazy|group").help(
            "What is linked of libraries: all, as nvlink does it, or members that something before \
             them needs; with group, all libraries are searched together behind everything else. \
             Of LTO-IR only a compilation tells the names, so that each member is compiled for them."),
        option(F::Map, "map", G::Ours).takes(V::Text, "FILE").help(
            "Writes what lies where in the image, and what was left out; - prints it."),
        option(F::CrossReferences, "cref", G::Ours).help(
            "Adds to the map who defines each name and who uses it; without a map it is printed."),
        option(F::WhyLive, "why-live", G::Ours).takes(V::Texts, "NAME").help(
            "Says which kernel needs a function or variable, or that it is left out. The name is \
             that of the object or, with or without parameters, that of the source. May be given \
             several times."),
        option(F::Odr, "odr", G::Ours).takes(V::Choice(ODR), "off|data|warn|error").help(
            "What to do about inline functions, templates and other weak names that two inputs \
             define in different ways. By default, data: a warning where variables or parameters \
             of kernels differ. With warn and error, code counts too; it may differ because only \
             one input defines what it calls."),
        option(F::DependencyFile, "depfile", G::Ours).takes(V::Text, "FILE").help(
            "Writes which files were read, as a rule for make or ninja."),
        option(F::MessageFormat, "message-format", G::Ours).takes(V::Choice(FORMATS), "text|json").help(
            "The shape of messages; json gives one object on each line."),
        option(F::Explain, "explain", G::Ours).takes(V::Text, "CODE").help(
            "Says what a message code means, and does nothing else."),
        option(F::NvJitLink, "nvjitlink", G::Ours).takes(V::Text, "FILE").help(
            "The library that compiles LTO-IR, which is otherwise that of the CUDA toolkit."),
        option(F::Ptxas, "ptxas", G::Ours).takes(V::Text, "FILE").help(
            "The program that compiles PTX, which is otherwise that of the CUDA toolkit."),
        option(F::Threads, "threads", G::Ours).takes(V::Number, "N").help(
            "How many threads the link may have; otherwise, and with 0, as many as there are processors. The result \
             is the same."),
        option(F::ToolRecord, "tool-record", G::Ours).takes(V::Text, "FILE").help(
            "Takes the note about the linker from a file, byte for byte."),

        option(F::LinkTimeOptimization, "link-time-opt", G::LinkTime).short("lto").help(
            "Link-time optimization."),
        option(F::LinkTimeOptimizationAlias, "dlto", G::LinkTime).help(
            "The same."),
        option(F::NvvmPath, "nvvmpath", G::LinkTime).takes(V::Text, "DIR").help(
            "Where libnvvm is. libnvJitLink, which has its own, and ptxas are taken from the toolkit around it."),
        option(F::NvvmOptions, "Xnvvm", G::LinkTime).takes(V::List, "OPTION,..").help(
            "Options for libnvvm."),
        option(F::EmitPtx, "emit-ptx", G::LinkTime).help(
            "Writes PTX instead of an image."),
        option(F::SplitCompile, "split-compile", G::LinkTime).takes(V::Number, "N").help(
            "Threads of libnvvm."),
        option(F::SplitCompileExtended, "split-compile-extended", G::LinkTime).takes(V::Number, "N").help(
            "Threads of compilation."),
        option(F::FastCompile, "Ofast-compile", G::LinkTime)
            .short("Ofc").takes(V::Text, "0|min|mid|max").implying("0").help(
            "How much optimization is given up for speed; none without a value."),
        option(F::ForcePartialLto, "force-partial-lto", G::Hidden),

        option(F::HostCompiler, "host-ccbin", G::Hidden).takes(V::Text, "PROGRAM"),
        option(F::Shared, "shared", G::Hidden),
        option(F::XLinker, "host-linker-options", G::Hidden).short("Xlinker").takes(V::List, "OPTION,.."),
        option(F::CudaApiVersion, "cuda-api-version", G::Hidden).takes(V::Text, "MAJOR.MINOR"),
        option(F::SyscallConstOffset, "syscall-const-offset", G::Hidden).takes(V::Number, "N"),
        option(F::Uumn, "uumn", G::Hidden),
    ]
};

impl Flag {
    /// Its row of the table.
    pub fn spelling(self) -> &'static Spelling {
        FLAGS
            .iter()
            .find(|spelling| spelling.flag == self)
            .expect("every option has a row")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_shown_option_is_described() {
        let (mut flags, mut long, mut short) = (HashSet::new(), HashSet::new(), HashSet::new());
        for spelling in FLAGS {
            assert!(flags.insert(spelling.flag), "{:?}", spelling.flag);
            assert!(long.insert(spelling.long), "--{}", spelling.long);
            if let Some(name) = spelling.short {
                assert!(short.insert(name), "-{name}");
            }
            let described = !spelling.help.is_empty();
            assert_eq!(
                described,
                spelling.group != Group::Hidden,
                "--{}",
                spelling.long
            );
            let valued = !spelling.placeholder.is_empty();
            assert_eq!(
                valued,
                spelling.value != Value::Nothing,
                "--{}",
                spelling.long
            );
        }
    }
}
