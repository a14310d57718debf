//! What the names of sections say, taken apart once for all checks.

use crate::cubin::{File, Section, SectionType, section_name};
use crate::error::ParseError;

/// What a section is by its name: called so, or so and on behind a dot, or behind an underscore at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// `.text`
    Code,
    /// `.nv.uft.rel`: code of a slot of unified functions.
    Slot,
    /// `.debug_` and `.nv_debug_`
    Debug,
    /// `.nv.info`
    Info,
    /// `.rel`
    Rel,
    /// `.rela`
    Rela,
    /// `.nv.global.init`
    GlobalInit,
    /// `.nv.global`
    Global,
    /// `.nv.shared`
    Shared,
    /// `.nv.local`
    Local,
    /// `.nv.constant` and a number
    Bank(u8),
    /// `.nv.constant.optimizer`: constants of the compiler in the Mercury world, which nothing has but functions.
    OptimizerConstants,
    /// `.nv.constant.entry_image_header_indices`
    HeaderIndices,
    /// `.nv.callgraph`
    CallGraph,
    /// `.nv.prototype`
    Prototype,
    /// `.nv.compat`
    Compat,
    /// `.note`
    Note,
    /// `.symtab`
    Symbols,
    /// `.strtab` and `.shstrtab`
    Strings,
    /// Anything else.
    Other,
}

impl Part {
    /// The part that a name says, and what stands behind it and a dot.
    fn of(name: &str) -> (Self, Option<&str>) {
        let found = match name.strip_prefix(".nv.") {
            Some(name) => Self::of_cuda(name),
            None => Self::of_elf(name),
        };
        found.unwrap_or((Self::Other, None))
    }

    /// The same of names behind `.nv.`; those that most sections have come first.
    fn of_cuda(name: &str) -> Option<(Self, Option<&str>)> {
        called(name, "info", Self::Info)
            .or_else(|| Self::of_constants(name.strip_prefix("constant")?))
            .or_else(|| called(name, "shared", Self::Shared))
            .or_else(|| called(name, "local", Self::Local))
            .or_else(|| called(name, "global.init", Self::GlobalInit))
            .or_else(|| called(name, "global", Self::Global))
            .or_else(|| called(name, "callgraph", Self::CallGraph))
            .or_else(|| called(name, "prototype", Self::Prototype))
            .or_else(|| called(name, "compat", Self::Compat))
            .or_else(|| called(name, "uft.rel", Self::Slot))
    }

    /// The same of names behind `.nv.constant`.
    fn of_constants(name: &str) -> Option<(Self, Option<&str>)> {
        let digits = name.bytes().take_while(u8::is_ascii_digit).count();
        let (bank, rest) = name.split_at(digits);
        match bank.parse() {
            Ok(bank) => Some((Self::Bank(bank), rest.strip_prefix('.'))),
            Err(_) => called(name, ".optimizer", Self::OptimizerConstants)
                .or_else(|| called(name, ".entry_image_header_indices", Self::HeaderIndices)),
        }
    }

    /// The same of other names.
    fn of_elf(name: &str) -> Option<(Self, Option<&str>)> {
        called(name, ".text", Self::Code)
            .or_else(|| called(name, section_name::RELA_OF, Self::Rela))
            .or_else(|| called(name, section_name::REL_OF, Self::Rel))
            .or_else(|| called(name, ".note", Self::Note))
            .or_else(|| called(name, ".symtab", Self::Symbols))
            .or_else(|| called(name, ".strtab", Self::Strings))
            .or_else(|| called(name, ".shstrtab", Self::Strings))
            .or_else(|| {
                let is_debug = name.starts_with(".debug_") || name.starts_with(".nv_debug_");
                is_debug.then_some((Self::Debug, None))
            })
    }
}

/// `part` if a name is `start` or goes on behind it and a dot, and what stands there. Inlined, it compares with what the
/// compiler knows.
#[inline(always)]
fn called<'d>(name: &'d str, start: &str, part: Part) -> Option<(Part, Option<&'d str>)> {
    let rest = name.strip_prefix(start)?;
    let behind = rest.strip_prefix('.');
    (rest.is_empty() || behind.is_some()).then_some((part, behind))
}

/// A section and what its name says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'f, 'd> {
    pub(super) section: &'f Section<'d>,
    /// Its name without what it begins with in the Mercury world.
    pub(super) name: &'d str,
    /// Whether it has the name of one of the Mercury world.
    pub(super) is_mercury: bool,
    pub(super) part: Part,
    /// What stands in the name behind the part and a dot.
    pub(super) rest: Option<&'d str>,
    /// Its type, told by its name where ELF's says little.
    pub(super) kind: SectionType,
}

impl<'f, 'd> Named<'f, 'd> {
    fn new(section: &'f Section<'d>) -> Self {
        let world = section.name.strip_prefix(".nv.");
        let world = world.and_then(|rest| {
            let capsules = rest.strip_prefix("capmerc");
            capsules.or_else(|| rest.strip_prefix("merc"))
        });
        let world = world.filter(|rest| rest.starts_with('.'));
        let name = world.unwrap_or(section.name);
        let (part, rest) = Part::of(name);
        Self {
            section,
            name,
            is_mercury: world.is_some(),
            part,
            rest,
            kind: section.kind.by_name(name),
        }
    }

    /// The types of sections called so, if that is known. CUDA 13.5 has given others of the Mercury world types of their own.
    pub(super) fn types(&self) -> Option<&'static [SectionType]> {
        use SectionType as Type;
        let types: &[Type] = match (self.part, self.is_mercury) {
            (Part::Debug, _) | (Part::Code, false) => &[Type::PROGBITS],
            (Part::Code, true) => &[Type::CUDA_CAPMERC],
            (Part::Info, false) => &[Type::CUDA_INFO],
            (Part::Info, true) => &[Type::CUDA_MERC_INFO],
            (Part::Rela, false) => &[Type::RELA],
            (Part::Rela, true) => &[Type::CUDA_MERC_RELA],
            (Part::Symbols, false) => &[Type::SYMTAB],
            (Part::Symbols, true) => &[Type::CUDA_MERC_SYMTAB],
            (Part::Rel, false) => &[Type::REL],
            (Part::GlobalInit, false) => &[Type::CUDA_GLOBAL_INIT, Type::PROGBITS],
            (Part::Global, false) => &[Type::CUDA_GLOBAL, Type::NOBITS],
            (Part::Shared, false) => &[Type::CUDA_SHARED, Type::CUDA_SHARED_RESERVED, Type::NOBITS],
            (Part::Local, false) => &[Type::CUDA_LOCAL, Type::NOBITS],
            (Part::CallGraph, false) => &[Type::CUDA_CALLGRAPH],
            (Part::Prototype, false) => &[Type::CUDA_PROTOTYPE],
            (Part::Compat, false) => &[Type::CUDA_COMPAT],
            (Part::Note, false) => &[Type::NOTE],
            (Part::Strings, false) => &[Type::STRTAB],
            // The number of a bank says its type.
            (Part::Bank(_), _)
            | (Part::Slot | Part::OptimizerConstants | Part::HeaderIndices | Part::Other, _)
            | (
                Part::Rel
                | Part::GlobalInit
                | Part::Global
                | Part::Shared
                | Part::Local
                | Part::CallGraph
                | Part::Prototype
                | Part::Compat
                | Part::Note
                | Part::Strings,
                true,
            ) => return None,
        };
        Some(types)
    }

    /// What the code of a function is called for, which is the function, but for slots of unified functions.
    pub(super) fn code(&self) -> Option<&'d str> {
        self.rest
            .filter(|_| matches!(self.part, Part::Code | Part::Slot))
    }

    /// The function that it says it is something of, beside its code.
    pub(super) fn function(&self) -> Option<&'d str> {
        let is_of_functions = matches!(
            self.part,
            Part::Info
                | Part::Shared
                | Part::Local
                | Part::Bank(_)
                | Part::OptimizerConstants
                | Part::HeaderIndices
        );
        self.rest.filter(|_| is_of_functions)
    }

    /// What its relocations patch, without the dot.
    pub(super) fn patched(&self) -> Option<&'d str> {
        self.rest
            .filter(|_| matches!(self.part, Part::Rel | Part::Rela))
    }
}

/// The sections of a file with what their names say.
pub(super) struct Names<'f, 'd> {
    pub(super) file: &'f File<'d>,
    /// Whether the file has a Mercury world.
    pub(super) has_mercury: bool,
    pub(super) all: Vec<Named<'f, 'd>>,
}

impl<'f, 'd> Names<'f, 'd> {
    pub(super) fn new(file: &'f File<'d>) -> Self {
        let mercury_symbols = file.section_of_type(SectionType::CUDA_MERC_SYMTAB);
        Self {
            file,
            has_mercury: mercury_symbols.is_some(),
            all: file.sections.iter().map(Named::new).collect(),
        }
    }

    /// The section of a number that stands in a header.
    pub(super) fn get(&self, index: u32) -> Result<&Named<'f, 'd>, ParseError> {
        self.file.section(index)?;
        Ok(&self.all[index as usize])
    }
}
