//! What `-kernels-used` and `-variables-used` name and no input has. nvlink makes an image without it, and says nothing.

use std::collections::HashSet;

use super::alike::alike;
use crate::arch::reserved;
use crate::codes;
use crate::cubin::SymbolType;
use crate::demangle::{readable, without_parameters};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::merge::{Merged, Symbol};
use crate::options::{DebugLevel, KernelFilter, Options, is_in};

/// What names stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kernel,
    Variable,
    /// No option takes it.
    Function,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Kernel, Self::Variable, Self::Function];

    fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Variable => "variable",
            Self::Function => "device function",
        }
    }

    fn of(symbol: &Symbol<'_>, merged: &Merged<'_>) -> Option<Self> {
        // What the compiler itself names.
        let is_own = symbol.name.starts_with(['.', '$']) || reserved::is_unified_table(symbol.name);
        match symbol.function {
            _ if symbol.input.is_none() || is_own => None,
            Some(function) if merged.is_kernel(&merged.functions[function]) => Some(Self::Kernel),
            Some(_) => Some(Self::Function),
            None => match symbol.kind {
                SymbolType::SECTION | SymbolType::FUNC | SymbolType::NOTYPE => None,
                _ => Some(Self::Variable),
            },
        }
    }
}

/// Warns of each text that is in no name, and where all kernels go since none is named.
pub(crate) fn unmatched(merged: &Merged<'_>, options: &Options) -> Vec<Diagnostic> {
    let is_texts = |filter: &KernelFilter| matches!(filter, KernelFilter::Containing(_));
    if !is_texts(&options.kernels) && !is_texts(&options.constants) {
        return Vec::new();
    }
    let symbols = merged.symbols.iter();
    let named = symbols.filter_map(|symbol| Some((Kind::of(symbol, merged)?, symbol.name)));
    let names = Names(named.collect());
    let mut warnings = names.unmatched(Kind::Kernel, &options.kernels);
    warnings.extend(names.unmatched(Kind::Variable, &options.constants));
    let names_none = options.kernels == KernelFilter::Containing(Vec::new());
    let drops_kernels =
        options.settings.image.is_executable() && options.settings.debug != DebugLevel::Symbols;
    if names_none && drops_kernels && names.of(Kind::Kernel).next().is_some() {
        let text =
            "all kernels are left out, since -variables-used is given and -kernels-used is not";
        let warning = Diagnostic::new(Severity::Warning, codes::NO_KERNELS, text);
        warnings.push(warning.with_note("help: -kernels-used=* keeps all of them"));
    }
    warnings
}

/// Warns of each text that is in no name of the kernels that are left of a program.
pub(crate) fn unmatched_kernels<'n>(
    kernels: impl Iterator<Item = &'n str>,
    texts: &KernelFilter,
) -> Vec<Diagnostic> {
    let names = Names(kernels.map(|name| (Kind::Kernel, name)).collect());
    let mut warnings = names.unmatched(Kind::Kernel, texts);
    // What is gone may be more alike.
    for warning in &mut warnings {
        warning.detail = None;
    }
    warnings
}

/// The names that inputs have.
struct Names<'n>(Vec<(Kind, &'n str)>);

impl<'n> Names<'n> {
    fn of(&self, kind: Kind) -> impl Iterator<Item = &'n str> {
        let names = self.0.iter();
        names.filter_map(move |(other, name)| (*other == kind).then_some(*name))
    }

    fn unmatched(&self, kind: Kind, filter: &KernelFilter) -> Vec<Diagnostic> {
        // Other filters are not written by users.
        let KernelFilter::Containing(texts) = filter else {
            return Vec::new();
        };
        let mut known = HashSet::new();
        let texts = texts.iter().filter(|text| known.insert(*text));
        texts
            .filter(|text| !self.of(kind).any(|name| is_in(text, name)))
            .map(|text| self.warning(kind, text))
            .collect()
    }

    fn warning(&self, kind: Kind, text: &str) -> Diagnostic {
        let what = kind.name();
        let said = match text.contains('*') {
            true => format!("no {what} has a name with '{text}' in it"),
            false => format!("no {what} has '{text}' in its name"),
        };
        let warning = Diagnostic::new(Severity::Warning, codes::UNMATCHED_NAME, said);
        let mut others = Kind::ALL.into_iter().filter(|other| *other != kind);
        let fitting = others.find_map(|other| {
            let name = self.of(other).find(|name| is_in(text, name))?;
            Some(format!("'{name}' is a {}", other.name()))
        });
        if let Some(fitting) = fitting {
            return warning.with_detail(fitting);
        }
        if let Some(known) = alike(self.of(kind), text) {
            let readable = readable(known);
            let short = without_parameters(&readable);
            let meant = if is_in(short, known) { short } else { known };
            return warning.with_detail(format_args!("did you mean '{meant}'?"));
        }
        let known: Vec<String> = self.of(kind).map(str::to_owned).collect();
        let is_one = known.len() == 1;
        match some_of(&known) {
            Some(known) if is_one => warning.with_detail(format_args!("there is {known}")),
            Some(known) => warning.with_detail(format_args!("there are {known}")),
            None => warning.with_detail(format_args!("there are no {what}s")),
        }
    }
}
