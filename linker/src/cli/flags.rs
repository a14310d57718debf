//! Every option of the command line: its spellings, its kind of value, and
//! what `--help` says about it.

/// An option, whatever its spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the table below describes each")]
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

const fn option(
    flag: Flag,
    long: &'static str,
    short: &'static str,
    value: Value,
    placeholder: &'static str,
    group: Group,
    help: &'static str,
) -> Spelling {
    Spelling {
        flag,
        long,
        short: Some(short),
        joined: false,
        implied: None,
        value,
        placeholder,
        group,
        help,
    }
}

const fn switch(
    flag: Flag,
    long: &'static str,
    short: &'static str,
    group: Group,
    help: &'static str,
) -> Spelling {
    option(flag, long, short, Value::Nothing, "", group, help)
}

const fn joined(spelling: Spelling) -> Spelling {
    Spelling {
        joined: true,
        ..spelling
    }
}

const fn implying(spelling: Spelling, value: &'static str) -> Spelling {
    Spelling {
        implied: Some(value),
        ..spelling
    }
}

const fn long_only(spelling: Spelling) -> Spelling {
    Spelling {
        short: None,
        ..spelling
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
        option(F::Arch, "arch", "arch", V::Processor, "sm_NN,..", G::Files,
            "The processor to link for, such as sm_90 or sm_100a, or several of them. Required."),
        option(F::Output, "output-file", "o", V::Text, "FILE", G::Files,
            "Where the linked image goes. Required. With several processors it is a fatbin, or one \
             file for each where {arch} stands in the name."),
        joined(option(F::Library, "library", "l", V::List, "NAME,..", G::Files,
            "Links libNAME.a. Libraries come after all other inputs.")),
        joined(option(F::LibraryPath, "library-path", "L", V::List, "DIR,..", G::Files,
            "Folders to look for libraries in; LIBRARY_PATH names more.")),
        option(F::OptionsFile, "options-file", "optf", V::List, "FILE,..", G::Files,
            "Reads further arguments from files."),
        long_only(option(F::RegisterLinkBinaries, "register-link-binaries", "", V::Text, "FILE", G::Files,
            "Writes the names of the linked modules for the host stub.")),
        implying(option(F::HostLinkerScript, "gen-host-linker-script", "ghls", V::Choice(SCRIPTS), "lcs-abs|lcs-aug", G::Files,
            "Prints a host linker script that keeps device code out of the way of host code, \
             or writes it to the output file. Without a value it is lcs-abs."), "lcs-abs"),
        option(F::UnifiedIndex, "uidx-file", "uidx", V::Text, "FILE", G::Files,
            "The index of unified functions and variables."),

        switch(F::Relocatable, "relocatable-link", "r", G::Linking,
            "Makes an object that can be linked again."),
        switch(F::Debug, "debug", "g", G::Linking,
            "Keeps code that no kernel needs, and symbols that only debuggers read."),
        switch(F::SuppressDebugInfo, "suppress-debug-info", "suppress-debug-info", G::Linking,
            "Drops those symbols again, not the code; only with -g."),
        switch(F::PreserveRelocations, "preserve-relocs", "preserve-relocs", G::Linking,
            "Keeps resolved relocations in the image."),
        joined(option(F::Machine, "machine", "m", V::SixtyFour, "64", G::Linking,
            "The width of addresses; 64 is the only one.")),
        option(F::CpuArch, "cpu-arch", "cpu-arch", V::Choice(HOSTS), "NAME", G::Linking,
            "The host processor: libraries for other ones are left out."),
        option(F::DeviceStackProtector, "device-stack-protector", "device-stack-protector", V::Truth, "true|false", G::Linking,
            "Stack protectors in code that is compiled during the link."),
        option(F::MaxRegisters, "maxrregcount", "maxrregcount", V::Number, "N", G::Linking,
            "Registers for code that is compiled during the link."),
        option(F::PtxasOptions, "Xptxas", "Xptxas", V::List, "OPTION,..", G::Linking,
            "Options for code that is compiled during the link."),
        option(F::ExtendedShared, "enable-extended-smem", "enable-extended-smem", V::Truth, "true|false", G::Linking,
            "Lets kernels have as much shared memory of fixed size as the processor has."),
        option(F::DisableSharedReservation, "disable-smem-reservation", "disable-smem-reservation", V::Truth, "true|false", G::Linking,
            "Reserves no shared memory for the system, which sm_90 and later do."),
        switch(F::ReserveNullPointer, "reserve-null-pointer", "reserve-null-pointer", G::Linking,
            "Puts no variable at address 0 of shared memory."),
        switch(F::AllowUndefinedGlobals, "allow-undefined-globals", "allow-undefined-globals", G::Linking,
            "Leaves variables in global memory that nobody defines to the driver."),
        switch(F::ForceRela, "force-rela", "force-rela", G::Linking,
            "Gives all relocations an addend, which sm_90 and later have anyway."),
        option(F::NvHost, "nv-host", "nv-host", V::Text, "FILE", G::Linking,
            "Puts a file into the image, as section .nv.host."),
        option(F::VerboseToolRecord, "verbose-tkinfo", "verbose-tkinfo", V::Truth, "true|false", G::Linking,
            "Records inputs and options of the link in the image."),

        switch(F::IgnoreHostInfo, "ignore-host-info", "ignore-host-info", G::DeadCode,
            "Keeps kernels that no host code names."),
        switch(F::UseHostInfo, "use-host-info", "use-host-info", G::DeadCode,
            "Removes kernels that no host code names; the default."),
        option(F::KernelsUsed, "kernels-used", "kernels-used", V::List, "TEXT,..", G::DeadCode,
            "Keeps only kernels whose names, as objects have them, contain one of the texts; * is any run of characters."),
        option(F::VariablesUsed, "variables-used", "variables-used", V::List, "TEXT,..", G::DeadCode,
            "Keeps only variables whose names contain one of the texts. Without -kernels-used it \
             removes all kernels."),
        switch(F::KeepSystemLibraries, "keep-system-libraries", "keep-system-libraries", G::DeadCode,
            "Links libcudadevrt.a even where nothing needs it."),

        switch(F::Verbose, "verbose", "v", G::Messages,
            "Prints the resources that each kernel uses."),
        switch(F::DumpCallGraph, "dump-callgraph", "dump-callgraph", G::Messages,
            "Prints which function calls which."),
        switch(F::DumpCallGraphNoDemangle, "dump-callgraph-no-demangle", "dump-callgraph-no-demangle", G::Messages,
            "The same with the names that objects use."),
        option(F::DotFile, "dot-file", "dot", V::Text, "FILE", G::Messages,
            "Writes which function calls which as a graph for dot."),
        switch(F::WarningAsError, "warning-as-error", "Werror", G::Messages,
            "Makes warnings errors."),
        switch(F::DisableWarnings, "disable-warnings", "w", G::Messages,
            "Prints no warnings."),
        switch(F::DisableInfos, "disable-infos", "disable-infos", G::Messages,
            "Prints no information."),
        switch(F::ExtraWarnings, "extra-warnings", "extrawarn", G::Messages,
            "Warns of functions whose address is taken and that nothing calls, too."),
        switch(F::SuppressArchWarning, "suppress-arch-warning", "suppress-arch-warning", G::Messages,
            "Does not warn of objects without code for the processor."),
        switch(F::SuppressStackSizeWarning, "suppress-stack-size-warning", "suppress-stack-size-warning", G::Messages,
            "Does not warn of kernels whose stack size is unknown."),
        switch(F::ReportArch, "report-arch", "report-arch", G::Messages,
            "Names the processor in messages about inputs."),
        option(F::Time, "time", "time", V::Text, "FILE", G::Messages,
            "Appends how long the link took to a table; `-` is the standard output."),
        switch(F::Version, "version", "V", G::Messages, "Prints the version."),
        switch(F::Help, "help", "h", G::Messages, "Prints this text."),

        switch(F::Compat, "compat", "compat", G::Ours,
            "Does exactly what nvlink 13.0 does: its messages, its silence about inputs it \
             ignores, and its bytes where they differ from ours."),
        option(F::Archive, "archive", "archive", V::Choice(ARCHIVES), "whole|lazy|group", G::Ours,
            "What is linked of libraries: all, as nvlink does it, or members that something before \
             them needs; with group, all libraries are searched together behind everything else. \
             Of LTO-IR only a compilation tells the names, so that each member is compiled for them."),
        option(F::Map, "map", "map", V::Text, "FILE", G::Ours,
            "Writes what lies where in the image, and what was left out; - prints it."),
        switch(F::CrossReferences, "cref", "cref", G::Ours,
            "Adds to the map who defines each name and who uses it; without a map it is printed."),
        option(F::WhyLive, "why-live", "why-live", V::Texts, "NAME", G::Ours,
            "Says which kernel needs a function or variable, or that it is left out. The name is \
             that of the object or, with or without parameters, that of the source. May be given \
             several times."),
        option(F::Odr, "odr", "odr", V::Choice(ODR), "off|data|warn|error", G::Ours,
            "What to do about inline functions, templates and other weak names that two inputs \
             define in different ways. By default, data: a warning where variables or parameters \
             of kernels differ. With warn and error, code counts too; it may differ because only \
             one input defines what it calls."),
        option(F::DependencyFile, "depfile", "depfile", V::Text, "FILE", G::Ours,
            "Writes which files were read, as a rule for make or ninja."),
        option(F::MessageFormat, "message-format", "message-format", V::Choice(FORMATS), "text|json", G::Ours,
            "The shape of messages; json gives one object on each line."),
        option(F::Explain, "explain", "explain", V::Text, "CODE", G::Ours,
            "Says what a message code means, and does nothing else."),
        option(F::NvJitLink, "nvjitlink", "nvjitlink", V::Text, "FILE", G::Ours,
            "The library that compiles LTO-IR, which is otherwise that of the CUDA toolkit."),
        option(F::Ptxas, "ptxas", "ptxas", V::Text, "FILE", G::Ours,
            "The program that compiles PTX, which is otherwise that of the CUDA toolkit."),
        option(F::Threads, "threads", "threads", V::Number, "N", G::Ours,
            "How many threads the link may have; otherwise, and with 0, as many as there are processors. The result \
             is the same."),
        option(F::ToolRecord, "tool-record", "tool-record", V::Text, "FILE", G::Ours,
            "Takes the note about the linker from a file, byte for byte."),

        switch(F::LinkTimeOptimization, "link-time-opt", "lto", G::LinkTime,
            "Link-time optimization."),
        switch(F::LinkTimeOptimizationAlias, "dlto", "dlto", G::LinkTime, "The same."),
        option(F::NvvmPath, "nvvmpath", "nvvmpath", V::Text, "DIR", G::LinkTime,
            "Where libnvvm is. libnvJitLink, which has its own, and ptxas are taken from the toolkit around it."),
        option(F::NvvmOptions, "Xnvvm", "Xnvvm", V::List, "OPTION,..", G::LinkTime,
            "Options for libnvvm."),
        switch(F::EmitPtx, "emit-ptx", "emit-ptx", G::LinkTime,
            "Writes PTX instead of an image."),
        option(F::SplitCompile, "split-compile", "split-compile", V::Number, "N", G::LinkTime,
            "Threads of libnvvm."),
        option(F::SplitCompileExtended, "split-compile-extended", "split-compile-extended", V::Number, "N", G::LinkTime,
            "Threads of compilation."),
        implying(option(F::FastCompile, "Ofast-compile", "Ofc", V::Text, "0|min|mid|max", G::LinkTime,
            "How much optimization is given up for speed; none without a value."), "0"),
        switch(F::ForcePartialLto, "force-partial-lto", "force-partial-lto", G::Hidden, ""),

        option(F::HostCompiler, "host-ccbin", "host-ccbin", V::Text, "PROGRAM", G::Hidden, ""),
        switch(F::Shared, "shared", "shared", G::Hidden, ""),
        option(F::XLinker, "host-linker-options", "Xlinker", V::List, "OPTION,..", G::Hidden, ""),
        option(F::CudaApiVersion, "cuda-api-version", "cuda-api-version", V::Text, "MAJOR.MINOR", G::Hidden, ""),
        option(F::SyscallConstOffset, "syscall-const-offset", "syscall-const-offset", V::Number, "N", G::Hidden, ""),
        switch(F::Uumn, "uumn", "uumn", G::Hidden, ""),
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
