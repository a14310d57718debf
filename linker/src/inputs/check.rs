//! Whether a device object can be part of a link, with nvlink's words where
//! it cannot.

use std::ops::Range;

use crate::arch::{Abi, FileFlags, OldFileFlags, Sm, Suffix, Toolkit};
use crate::codes::{self, Code};
use crate::cubin::{
    Binding, CompatCode, CompatRecords, DeviceNote, EM_CUDA, File, ObjectKind, SectionType, Symbol,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::{ParseError, Problem};
use crate::read::lost_device_note;

use super::contents::what_else;
use super::{Behaviour, Processor};

/// Marks of the Mercury generation in the flags of a file.
const MERCURY_MARKS: u8 = 3;

/// Whether the first input of which a warning is said stands for all of them.
pub(super) fn is_said_once(code: Code) -> bool {
    code == codes::LIMITED_ARCH || code == codes::NEWER_TOOLKIT
}

/// What is to be done with a device object.
#[derive(Debug)]
pub(super) enum Verdict<'d> {
    /// It is linked.
    Link(File<'d>),
    /// It is linked, and comes of a toolkit that whole programs of today do not want behind them.
    LinkOlder(File<'d>),
    /// It is linked, and wants to be alone with libcudadevrt.
    LinkAlone(File<'d>),
    /// It has been linked already, or holds nothing; it is left out.
    Skip(&'static str),
}

/// What may be a device object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'n, 'd> {
    pub(super) name: &'n str,
    data: &'d [u8],
    /// Whether it is a file, and no entry of a fatbin, whose processor has been
    /// looked at before.
    is_file: bool,
}

impl<'n, 'd> Candidate<'n, 'd> {
    /// A file.
    pub(super) fn file(name: &'n str, data: &'d [u8]) -> Self {
        Self {
            name,
            data,
            is_file: true,
        }
    }

    /// What stands in a fatbin or was made of a file.
    pub(super) fn inside(name: &'n str, data: &'d [u8]) -> Self {
        Self {
            name,
            data,
            is_file: false,
        }
    }
}

/// Looks at what may be a device object. Warnings go to `warnings`.
pub(super) fn check<'d>(
    candidate: Candidate<'_, 'd>,
    processor: &Processor,
    behaviour: Behaviour,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Verdict<'d>, Diagnostic> {
    let name = candidate.name;
    let target = processor.sm;
    let Some(file) = parse(candidate, target, behaviour)? else {
        return Ok(Verdict::Skip("it is damaged"));
    };
    if file.header.kind == ObjectKind::EXECUTABLE {
        return Ok(Verdict::Skip(
            "it is an executable image; compile with -rdc=true for objects that can be linked",
        ));
    }
    check_abi(name, &file, warnings)?;
    if processor.is_virtual && file.header.processor().has_mercury() {
        return Err(virtual_name());
    }
    check_arch(name, &file, processor, warnings)?;
    let toolkit = check_toolkit(name, &file, behaviour)?;
    warnings.extend(toolkit.and_then(|toolkit| not_compared(name, toolkit)));
    let is_older = toolkit.is_none_or(|toolkit| toolkit < Toolkit::FOLLOWED);
    if target.has_mercury() {
        check_bindings(name, &file)?;
    }
    match file.header.kind {
        ObjectKind::EXTENDED_WHOLE_PROGRAM if is_older => Err(old_whole_program(name)),
        ObjectKind::EXTENDED_WHOLE_PROGRAM => Ok(Verdict::LinkAlone(file)),
        ObjectKind::RELOCATABLE if is_older => Ok(Verdict::LinkOlder(file)),
        ObjectKind::RELOCATABLE => Ok(Verdict::Link(file)),
        // Up to sm_90, nvlink takes any other type for a relocatable one.
        _ if behaviour == Behaviour::Nvlink && !target.has_mercury() => Ok(Verdict::Link(file)),
        ObjectKind(kind) => {
            let detail = format!("{kind} is no type of a device object");
            Err(not_finalized(name, &detail))
        }
    }
}

/// Where an ELF file says what type it has.
const KIND_FIELD: Range<usize> = 16..18;
/// Where it says how wide its numbers are.
const CLASS_FIELD: usize = 4;
/// The class of 64-bit files.
const WIDE: u8 = 2;

/// Reads a device object. Of an entry of a fatbin, nvlink looks at neither magic number nor machine (case
/// `fatbin_payloads`). `None` for one that nvlink takes for nothing: up to sm_90, it does so with a file that is cut off, and
/// reads on in one with other damage (case `damaged_tables`).
fn parse<'d>(
    candidate: Candidate<'_, 'd>,
    target: Sm,
    behaviour: Behaviour,
) -> Result<Option<File<'d>>, Diagnostic> {
    let Candidate {
        name,
        data,
        is_file,
    } = candidate;
    let is_marked = is_file || behaviour == Behaviour::Own;
    if !is_marked && data.get(KIND_FIELD) == Some(&ObjectKind::EXECUTABLE.0.to_le_bytes()) {
        return Ok(None);
    }
    if !is_marked && data.get(CLASS_FIELD) != Some(&WIDE) {
        let text = format!("Input file '{name}' size does not match target '-m64'");
        return Err(Diagnostic::fatal(codes::NOT_A_CUBIN, text));
    }
    if is_marked && !data.starts_with(b"\x7fELF") {
        let problem = Diagnostic::fatal(codes::NOT_A_CUBIN, "cubin not an elf?").of_input(name);
        return Err(problem.with_detail(match what_else(name, data) {
            Some(what) => format!("'{name}' {what}"),
            None => format!("in '{name}'"),
        }));
    }
    if is_marked && data.get(18..20) != Some(&EM_CUDA.to_le_bytes()) {
        let text = "cubin not a device elf?";
        return Err(fatal(codes::NOT_A_CUBIN, name, text));
    }
    File::parse_unmarked(data)
        .map(Some)
        .or_else(|error| match behaviour {
            Behaviour::Nvlink if !target.has_mercury() && is_cut_off(&error.problem) => Ok(None),
            Behaviour::Nvlink => Err(Diagnostic::bad_input(
                &error.in_input(name),
                Behaviour::Nvlink,
            )),
            Behaviour::Own => Err(damaged(name, error)),
        })
}

/// Refuses symbols whose binding is none (case `symbol_types`).
fn check_bindings(name: &str, file: &File<'_>) -> Result<(), Diagnostic> {
    let is_odd = |symbol: &&Symbol<'_>| symbol.binding.0 > Binding::WEAK.0;
    match file.symbols.iter().find(is_odd) {
        None => Ok(()),
        Some(symbol) => {
            let (binding, symbol) = (symbol.binding.0, symbol.name);
            let detail = format!("{binding} is no binding of a symbol, as {symbol} has it");
            Err(not_finalized(name, &detail))
        }
    }
}

/// nvlink makes no machine code of the object.
fn not_finalized(name: &str, detail: &str) -> Diagnostic {
    let text = format!("Internal FNLZR error '{name}'");
    Diagnostic::fatal(codes::BAD_OBJECT_TYPE, text).with_detail(detail)
}

/// Whether a file is no whole ELF file of the kind, so that nothing in it can be found.
fn is_cut_off(problem: &Problem) -> bool {
    match problem {
        Problem::NotElf | Problem::WrongElf(_) | Problem::Truncated { .. } => true,
        Problem::BadIndex { .. } | Problem::Malformed(_) => false,
    }
}

fn check_abi(
    name: &str,
    file: &File<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    let header = &file.header;
    let abi = header.abi();
    if abi == Abi::V7 && !OldFileFlags::decode(header.flags).is_wide {
        warnings.push(Diagnostic::new(
            Severity::Warning,
            codes::NARROW_ADDRESSES,
            format!("expected 64bit object '{name}' to have EF_CUDA_64BIT_ADDRESS set"),
        ));
    }
    if header.abi_version != abi.version() {
        return Err(Diagnostic::fatal(codes::ABI_MISMATCH,
            format!("Input file '{name}' abi does not match"),
        )
        .with_detail(format_args!(
            "its ABI version is {}, and this linker knows {}, that of CUDA 11.8 to 13; compile it with one of these",
            header.abi_version,
            abi.version()
        )));
    }
    Ok(())
}

fn check_arch(
    name: &str,
    file: &File<'_>,
    processor: &Processor,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    let object = processor_of(name, file)?;
    if object.number == 0 {
        let text = format!("Unknown arch name '{object}'");
        return Err(Diagnostic::fatal(codes::ARCH_MISMATCH, text));
    }
    let target = processor.sm;
    let fits = match processor.is_virtual {
        true => is_older(object, target),
        false => object.links_into(target),
    };
    if fits && (!processor.is_virtual || !target.has_mercury()) {
        return Ok(());
    }
    if target.has_mercury() && is_native(file) {
        warnings.push(Diagnostic::new(
            Severity::Warning,
            codes::LIMITED_ARCH,
            format!(
                "Output is limited to run on SM Arch '{}' only due to limitations in input file \
                 {name}",
                target.number
            ),
        ));
    }
    if fits {
        return Ok(());
    }
    Err(Diagnostic::fatal(
        codes::ARCH_MISMATCH,
        format!(
            "Input file '{name}' arch does not match target '{}'",
            processor.name
        ),
    )
    .with_detail(format_args!(
        "it is for {object}; compile it for {}, or link for {object}",
        processor.name
    ))
    .of_input(name))
}

/// Whether the header says that an object is of before the Mercury generation, whatever its processor.
fn is_native(file: &File<'_>) -> bool {
    match file.header.abi() {
        Abi::V7 => true,
        Abi::V8 => FileFlags::decode(file.header.flags).address_mark & MERCURY_MARKS == 0,
    }
}

/// What nvlink asks of objects where the target is what PTX is written for.
fn is_older(object: Sm, target: Sm) -> bool {
    object.number == target.number || object.number < target.number && object.suffix.is_none()
}

/// What nvlink says of an object of the Mercury generation then.
fn virtual_name() -> Diagnostic {
    let text = "specified arch exceeds buffer length";
    Diagnostic::fatal(codes::VIRTUAL_ARCH, text)
}

/// The processor an object is for. The letter stands in `.nv.compat`.
fn processor_of(name: &str, file: &File<'_>) -> Result<Sm, Diagnostic> {
    let mut sm = file.header.processor();
    if let Some(section) = file.section_of_type(SectionType::CUDA_COMPAT) {
        for record in CompatRecords::new(file.sections[section].data) {
            let record = record.map_err(|error| damaged(name, error))?;
            if record.code == CompatCode::CUDA_ACCELERATOR_TARGET {
                sm.suffix = match record.number() {
                    0 => None,
                    1 => Some(Suffix::A),
                    _ => Some(Suffix::F),
                };
            }
        }
    }
    Ok(sm)
}

/// The toolkit that a file tells of, as far as it is one that this linker knows.
fn check_toolkit(
    name: &str,
    file: &File<'_>,
    behaviour: Behaviour,
) -> Result<Option<Toolkit>, Diagnostic> {
    let processor = file.header.processor();
    let is_hopper = processor.is_hopper_or_newer() && !processor.has_mercury();
    let is_too_old = match file.header.abi() {
        // Only from sm_90 on it matters.
        Abi::V7 => processor.is_hopper_or_newer() && file.header.version < Toolkit::OLDEST.0.into(),
        // Of other processors, `-r` of many objects with debug information writes this, too (case `debug_many_texts`).
        Abi::V8 => {
            is_hopper
                && match behaviour {
                    Behaviour::Nvlink => lost_device_note(file).is_some(),
                    Behaviour::Own => FileFlags::decode(file.header.flags).device_note == 0,
                }
        }
    };
    if is_too_old {
        return Err(older_toolkit(name));
    }
    // Objects of today say 1 there, and from sm_100 on nvlink looks all the same (case `abi_mismatch`).
    let is_told = file.header.abi() == Abi::V7 || processor.has_mercury();
    if is_told && file.header.version > Toolkit::FOLLOWED.0.into() {
        return Err(newer_toolkit(name, file.header.version as i32));
    }
    let notes = file
        .sections
        .iter()
        .filter(|section| section.kind == SectionType::NOTE);
    let mut known = None;
    for section in notes {
        let notes = match behaviour {
            Behaviour::Nvlink => DeviceNote::all_as_nvlink(section.name, section.data),
            Behaviour::Own => DeviceNote::all(section.data),
        };
        let notes = notes.map_err(|error| damaged(name, error))?;
        for note in notes {
            let toolkit = note.toolkit().map(Toolkit);
            if is_hopper && toolkit.is_none_or(|made| made < Toolkit::OLDEST) {
                return Err(older_toolkit(name));
            }
            known = toolkit.or(known);
            let is_too_new = |&toolkit: &Toolkit| match behaviour {
                Behaviour::Nvlink => toolkit > Toolkit::FOLLOWED,
                Behaviour::Own => !toolkit.is_alike(),
            };
            if let Some(toolkit) = known.filter(is_too_new) {
                return Err(newer_toolkit(name, toolkit.0.into()));
            }
        }
    }
    Ok(known)
}

fn older_toolkit(name: &str) -> Diagnostic {
    let text = format!("Input file '{name}' must be recompiled with toolkit >= Cuda 12.0");
    Diagnostic::fatal(codes::OLD_TOOLKIT, text)
}

/// nvlink takes the number for one with a sign where it prints it.
fn newer_toolkit(name: &str, toolkit: i32) -> Diagnostic {
    let text = format!(
        "Input file '{name}' newer than toolkit ({toolkit} vs {})",
        Toolkit::FOLLOWED.0
    );
    Diagnostic::fatal(codes::NEWER_TOOLKIT, text)
}

/// What is said of an object that may hold what this linker has not seen.
fn not_compared(name: &str, toolkit: Toolkit) -> Option<Diagnostic> {
    (toolkit > Toolkit::NEWEST_COMPARED).then(|| {
        let text = format!(
            "Input file '{name}' comes from toolkit {toolkit}, and this linker was compared with \
             those up to {}",
            Toolkit::NEWEST_COMPARED
        );
        Diagnostic::new(Severity::Warning, codes::NEWER_TOOLKIT, text).of_input(name)
    })
}

/// Bytes that are not what they should be.
pub(super) fn damaged(name: &str, error: ParseError) -> Diagnostic {
    let error = error.in_input(name);
    Diagnostic::fatal(codes::BAD_INPUT, error.to_string()).at(&error.location)
}

/// nvlink also says it of objects of older toolkits behind a whole program.
pub(super) fn old_whole_program(name: &str) -> Diagnostic {
    let text = "linking with -ewp objects requires using current toolkit";
    fatal(codes::OLD_WHOLE_PROGRAM, name, text)
}

/// A problem that nvlink puts into words without the name of the file.
pub(super) fn fatal(code: Code, name: &str, text: &str) -> Diagnostic {
    Diagnostic::fatal(code, text)
        .with_detail(format_args!("in '{name}'"))
        .of_input(name)
}
