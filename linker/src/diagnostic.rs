//! Messages of the linker to its user.

mod filter;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::arch::{Sm, help_with};
use crate::codes::{self, Code};
use crate::demangle::readable;
use crate::error::{Location, ParseError, without_number};
use crate::options::Behaviour;
use crate::prune::Missed;
use crate::raw_text;
pub use filter::Filter;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Text that was asked for, shown as it is.
    Text,
    /// Worth knowing.
    Info,
    /// The link goes on.
    Warning,
    /// The link fails, after other problems have been reported.
    Error,
    /// The link fails at once.
    Fatal,
}

/// What to do about a name that no input defines.
pub(crate) const ADD_DEFINITION: &str =
    "help: add the object or library that defines it, compiled with -rdc=true";

/// The end of advice where inputs have no code for the processor.
const COMPILE_FOR_IT: &str =
    ": compile for it, too, or link for processors that all inputs have code for";

/// What two inputs can disagree about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// Sizes of a variable.
    Size,
    /// Signatures of a function.
    Prototype,
    /// Kinds of memory, or a function against a variable.
    MemorySpace,
    /// Whether a variable is `__managed__`.
    Managed,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about, in a word that stays the same between releases.
    pub code: Code,
    /// The message, without severity or program name.
    pub text: String,
    /// More about it, shown where messages need not be those of nvlink.
    pub detail: Option<String>,
    /// Notes and advice, line by line, shown in the same places.
    pub notes: Vec<String>,
    /// How often nvlink prints it. It is shown once otherwise.
    pub(crate) times: usize,
    /// Whether options about messages (`-w`, `-Werror`) no longer apply to it.
    pub(crate) is_settled: bool,
    /// The symbol and the input that it is about. It is a box to keep messages without either small.
    pub(crate) subject: Option<Box<Subject>>,
}

/// What a message is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    symbol: Option<String>,
    input: Option<String>,
}

impl Diagnostic {
    /// A message.
    pub fn new(severity: Severity, code: Code, text: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            text: text.into(),
            detail: None,
            notes: Vec::new(),
            times: 1,
            is_settled: false,
            subject: None,
        }
    }

    /// A message that ends the link at once.
    pub(crate) fn fatal(code: Code, text: impl Into<String>) -> Self {
        Self::new(Severity::Fatal, code, text)
    }

    /// Text that was asked for.
    pub fn text(text: String) -> Self {
        Self::new(Severity::Text, codes::REQUESTED, text)
    }

    /// Adds what nvlink does not say.
    #[must_use]
    pub fn with_detail(mut self, detail: impl fmt::Display) -> Self {
        self.detail = Some(without_number(detail.to_string()));
        self
    }

    /// Adds a line below.
    #[must_use]
    pub fn with_note(mut self, note: impl fmt::Display) -> Self {
        self.notes.push(note.to_string());
        self
    }

    /// Replaces the advice to add a definition by a better one: that these inputs may have it, for other processors.
    #[must_use]
    pub(crate) fn with_inputs_lacking(mut self, inputs: &[String], target: &str) -> Self {
        let Some(names) = some_of(inputs) else {
            return self;
        };
        for note in self.notes.iter_mut().filter(|note| *note == ADD_DEFINITION) {
            *note = format!("help: {names} may define it, but not for {target}{COMPILE_FOR_IT}");
        }
        self
    }

    /// Removes the advice to compile for another processor, for callers that give their own.
    pub fn remove_advice_about_processors(&mut self) {
        self.notes.retain(|note| !note.ends_with(COMPILE_FOR_IT));
    }

    /// Adds the name of the function or variable that it is about.
    #[must_use]
    pub(crate) fn of_symbol(mut self, symbol: &str) -> Self {
        let subject = self.subject.get_or_insert_default();
        subject.symbol = Some(symbol.to_owned());
        self
    }

    /// Adds the function or variable that it is about and that its text has as the file does, with its demangled form.
    #[must_use]
    pub(crate) fn of_mangled(self, symbol: &str) -> Self {
        self.of_symbol(symbol).with_readable(&[symbol])
    }

    /// Adds the name of the input that it is about.
    #[must_use]
    pub(crate) fn of_input(mut self, input: &str) -> Self {
        let subject = self.subject.get_or_insert_default();
        subject.input = Some(input.to_owned());
        self
    }

    /// Adds the symbol and the input of a place.
    #[must_use]
    pub(crate) fn at(mut self, place: &Location) -> Self {
        self.subject = Some(Box::new(Subject {
            symbol: place.symbol.clone(),
            input: place.input.clone(),
        }));
        self
    }

    /// The function or variable that it is about, as objects name it.
    pub fn symbol(&self) -> Option<&str> {
        self.subject.as_ref()?.symbol.as_deref()
    }

    /// The input that it is about.
    pub fn input(&self) -> Option<&str> {
        self.subject.as_ref()?.input.as_deref()
    }

    /// Adds the demangled form of names, where it differs.
    #[must_use]
    pub(crate) fn with_readable(mut self, names: &[&str]) -> Self {
        for name in names {
            let readable = readable(name);
            if readable != *name {
                self.notes.push(format!("{name} is {readable}"));
            }
        }
        self
    }

    /// Two inputs define one name.
    pub(crate) fn multiple_definition(name: &str, input: &str, first: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::MULTIPLE_DEFINITION,
            format!("Multiple definition of '{name}' in '{input}', first defined in '{first}'"),
        )
        .of_mangled(name)
        .of_input(input)
        .with_twice(input, first)
    }

    /// Adds advice if both inputs seem to be the same file.
    fn with_twice(self, input: &str, first: &str) -> Self {
        let file = |name: &str| name.rsplit(['/', ':']).next().map(str::to_owned);
        match file(input) == file(first) {
            true => self.with_note("help: if both are the same object, leave one of them out"),
            false => self,
        }
    }

    /// Two inputs disagree about a name they share.
    pub(crate) fn mismatch(what: Mismatch, name: &str, input: &str, first: &str) -> Self {
        let (code, subject, how) = match what {
            Mismatch::Size => (codes::SIZE_MISMATCH, "Size", "specified"),
            Mismatch::Prototype => (codes::PROTOTYPE_MISMATCH, "Prototype", "defined"),
            Mismatch::MemorySpace => (codes::MEMORY_SPACE_MISMATCH, "Memory space", "specified"),
            Mismatch::Managed => (codes::MANAGED_MISMATCH, "Managed attribute", "specified"),
        };
        Self::new(
            Severity::Error,
            code,
            format!("{subject} doesn't match for '{name}' in '{input}', first {how} in '{first}'"),
        )
        .of_mangled(name)
        .of_input(input)
    }

    /// A tentative definition asks for more than the definition with a value has.
    pub(crate) fn common_too_large(name: &str, input: &str) -> Self {
        let text =
            format!("Common symbol '{name}' in file '{input}' has larger size than initialization");
        Self::new(Severity::Error, codes::SIZE_MISMATCH, text)
            .of_mangled(name)
            .of_input(input)
    }

    /// A function is a kernel in one input and none in another.
    pub(crate) fn not_always_a_kernel(name: &str, input: &str, first: &str) -> Self {
        let text = format!("Function '{name}' not declared __global__ in all source files");
        Self::new(Severity::Error, codes::KERNEL_MISMATCH, text)
            .of_mangled(name)
            .of_input(input)
            .with_note(format_args!("'{first}' and '{input}' differ"))
    }

    /// Inputs of CUDA 12 and 13 both use tensor memory.
    pub(crate) fn old_tensor_memory(input: &str) -> Self {
        let text = format!(
            "Object '{input}' cannot be linked due to version mismatch. Objects using tcgen05 in \
             12.x cannot be linked with 13.0 or later, they must be rebuilt with latest compiler"
        );
        Self::new(Severity::Error, codes::OLD_TENSOR_MEMORY, text)
    }

    /// A link for a processor that this linker does not know.
    pub(crate) fn unknown_processor(target: Sm) -> Self {
        let help = help_with(&target.to_string());
        Self::fatal(
            codes::UNKNOWN_PROCESSOR,
            format!("Cannot link for {target}: {help}"),
        )
    }

    /// Unified functions or variables need an index that all images share.
    pub(crate) fn unified_without_index() -> Self {
        let text = "Unified symbols found but index file not specified.";
        Self::fatal(codes::NO_UNIFIED_INDEX, text)
    }

    /// An input holds addresses that a relocatable link filled in too early.
    pub(crate) fn stale_addresses(input: &str, spaces: &str) -> Self {
        let text = format!(
            "'{input}' comes from nvlink -r, which filled in addresses of {spaces} that do not \
             hold in this link"
        );
        Self::new(Severity::Warning, codes::STALE_ADDRESSES, text)
    }

    /// An input does not say what its code needs.
    pub(crate) fn missing_attribute(target: Sm, attribute: &str, input: &str) -> Self {
        let text = format!(
            "Output is limited to run on SM Arch '{}' only, due to missing attribute \
             '{attribute}' in input file '{input}'",
            target.number
        );
        Self::new(Severity::Warning, codes::MISSING_ATTRIBUTE, text)
    }

    /// Bytes that are not what they should be.
    pub(crate) fn bad_input(error: &ParseError, behaviour: Behaviour) -> Self {
        let text = match (behaviour, error.nvlink) {
            (Behaviour::Nvlink, Some(error)) => format!("Internal error: {error}"),
            (Behaviour::Nvlink | Behaviour::Own, _) => error.to_string(),
        };
        Self::fatal(codes::BAD_INPUT, text).at(&error.location)
    }

    /// An object does not say how many registers its code needs.
    pub(crate) fn no_register_count(function: &str, input: &str) -> Self {
        let text = "Internal error: no regcount?";
        Self::fatal(codes::NO_REGISTER_COUNT, text).with_detail(format_args!(
            "'{input}' has none for {}",
            readable(function)
        ))
    }

    /// The call graph names what is no function.
    pub(crate) fn no_call_graph_node() -> Self {
        let text = "Internal error: no callgraph node";
        Self::fatal(codes::NO_CALL_GRAPH_NODE, text)
    }

    /// Something is in use that nvlink has dropped, a function together with another name for its code, say.
    pub(crate) fn reference_to_deleted(what: Missed) -> Self {
        let text = format!("Internal error: reference to deleted {}", what.name());
        Self::fatal(codes::REFERENCE_TO_DELETED, text)
    }

    /// Doubles take longer than code waits for, and it cannot be made anew.
    pub(crate) fn faster_doubles(function: &str, target: Sm) -> Self {
        let text = format!(
            "'{function}' computes with doubles, which take longer on {target} than it waits for, and cannot be made anew; \
             compile it for {target}"
        );
        Self::new(Severity::Warning, codes::FASTER_DOUBLES, text)
    }

    /// What nvlink says where it loses track of relocations.
    pub(crate) fn unexpected_relocation() -> Self {
        let text = "Internal error: unexpected reloc";
        Self::fatal(codes::BAD_INPUT, text)
    }

    /// An input cannot be merged; what is wrong with it was reported.
    pub(crate) fn merge_failed() -> Self {
        Self::fatal(codes::MERGE_FAILED, "merge_elf failed")
    }

    /// Two inputs define a weak kernel with other parameters.
    pub(crate) fn other_parameters(kernel: &str) -> Self {
        let text = format!("Duplicate weak parameter bank for '{kernel}' is not the same size");
        Self::new(Severity::Error, codes::OTHER_PARAMETERS, text).of_mangled(kernel)
    }

    /// A function uses what the system keeps in shared memory, in a link that leaves it no place.
    pub(crate) fn reserved_shared(function: &str) -> Self {
        let text = format!("Function '{function}' uses reserved shared memory when not allowed.");
        Self::new(Severity::Error, codes::RESERVED_SHARED, text).of_mangled(function)
    }

    /// An object is linked with a whole program.
    pub(crate) fn whole_program_company(name: &str) -> Self {
        let text = format!("'{name}': -ewp compiled objects should only link with libcudadevrt");
        Self::new(Severity::Warning, codes::WHOLE_PROGRAM_COMPANY, text)
    }

    /// nvlink has left out the device runtime, and expects nothing behind it.
    pub(crate) fn behind_runtime() -> Self {
        let text = "unexpected object after cudadevrt";
        Self::fatal(codes::BEHIND_RUNTIME, text)
    }

    /// A kernel needs more static shared memory than there is.
    pub(crate) fn too_much_shared(kernel: &str, size: u64, limit: u64) -> Self {
        Self::new(
            Severity::Error,
            codes::TOO_MUCH_SHARED,
            format!(
                "Entry function '{kernel}' uses too much shared data ({size:#x} bytes, \
                 {limit:#x} max)"
            ),
        )
        .of_mangled(kernel)
    }

    /// A kernel whose shared memory the compiler has laid out reaches a variable of another file.
    pub(crate) fn shared_of_others(variable: &str, kernel: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::SHARED_OF_OTHERS,
            format!(
                "Cannot link shared object '{variable}' with partially linked kernel '{kernel}'"
            ),
        )
        .of_mangled(kernel)
    }

    /// A kernel and the functions that it calls use tensor memory both for one
    /// block of threads and for pairs of them.
    pub(crate) fn mixed_tensor_groups(kernel: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::MIXED_TENSOR_GROUPS,
            format!(
                "Function '{kernel}' uses single CTA(.cta_group::1) and CTA pair \
                 granularity(.cta_group::2) and that is not allowed."
            ),
        )
        .of_mangled(kernel)
    }

    /// The module's constants do not fit their bank. The largest of them have a
    /// name, a size and an input.
    pub(crate) fn too_much_constant<'n>(
        size: u64,
        limit: u64,
        largest: impl Iterator<Item = (&'n str, u64, &'n str)>,
    ) -> Self {
        let text =
            format!("File uses too much global constant data ({size:#x} bytes, {limit:#x} max)");
        let error = Self::new(Severity::Error, codes::TOO_MUCH_CONSTANT, text);
        largest.fold(error, |error, (name, size, input)| {
            error.with_note(format_args!(
                "{size} bytes: '{}' in '{input}'",
                readable(name)
            ))
        })
    }

    /// What the compiler made for a kernel and its functions is more than a
    /// bank holds.
    pub(crate) fn too_many_compiler_constants(kernel: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::TOO_MANY_COMPILER_CONSTANTS,
            format!(
                "Entry function '{kernel}' uses too much data for compiler-generated constants; \
                 please recompile with -Xptxas --disable-optimizer-constants"
            ),
        )
        .of_mangled(kernel)
    }

    /// A kernel was compiled for fewer registers than a function it calls
    /// needs.
    pub(crate) fn too_many_registers(kernel: &str, limit: u32, function: &str, count: u32) -> Self {
        Self::new(
            Severity::Error,
            codes::TOO_MANY_REGISTERS,
            format!(
                "entry function '{kernel}' with max regcount of {limit} calls function \
                 '{function}' with regcount of {count}"
            ),
        )
        .of_symbol(kernel)
        .with_readable(&[kernel, function])
        .with_note(format_args!(
            "help: let the kernel have {count} registers (__launch_bounds__, -maxrregcount), or \
             compile the function for {limit}"
        ))
    }

    /// The address of a function is taken, and nothing calls it.
    pub(crate) fn uncalled(name: &str) -> Self {
        Self::new(
            Severity::Warning,
            codes::UNCALLED_FUNCTION,
            format!("Function '{name}' has address taken but no calls to it found"),
        )
        .of_mangled(name)
    }

    /// Nobody defines a name that is used.
    pub(crate) fn undefined_reference(name: &str, input: &str) -> Self {
        Self::new(
            Severity::Error,
            codes::UNDEFINED_REFERENCE,
            format!("Undefined reference to '{name}' in '{input}'"),
        )
        .of_mangled(name)
        .of_input(input)
    }
}

/// The line that nvlink prints. [`Diagnostic::shown`] has the detail and the notes, too.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&raw_text::visible(&self.line()))
    }
}

impl Diagnostic {
    /// All that the message says, with its code, detail and notes, but without its severity.
    pub fn shown(&self) -> String {
        self.shown_at("")
    }

    /// What stands behind the text, with what joins both.
    pub(crate) fn joined_detail(&self) -> String {
        match &self.detail {
            None => String::new(),
            Some(detail) if self.text.ends_with(['.', '?', ':']) => format!(" {detail}"),
            Some(detail) => format!(": {detail}"),
        }
    }

    /// The same with the place it concerns. Place and code are in the first line, where readers look for them.
    pub(crate) fn shown_at(&self, place: &str) -> String {
        let detail = self.joined_detail();
        let (detail, more) = match detail.split_once('\n') {
            Some((detail, more)) => (detail, Some(more)),
            None => (detail.as_str(), None),
        };
        let mut text = match self.severity {
            Severity::Text => self.text.clone(),
            // It would be noise on every line.
            Severity::Info if self.code == codes::RESOURCE_USAGE => {
                format!("{}{detail}{place}", self.text)
            }
            Severity::Info | Severity::Warning | Severity::Error | Severity::Fatal => {
                format!("{}{detail}{place} [{}]", self.text, self.code)
            }
        };
        if let Some(line) = more {
            text.push('\n');
            text.push_str(line);
        }
        for note in &self.notes {
            text.push_str("\n    ");
            text.push_str(note);
        }
        raw_text::visible(&text)
    }

    /// The message as nvlink shows it, with names of files as raw text.
    pub(crate) fn line(&self) -> String {
        let severity = match self.severity {
            Severity::Text => return self.text.clone(),
            Severity::Info => "info    ",
            Severity::Warning => "warning ",
            Severity::Error => "error   ",
            Severity::Fatal => "fatal   ",
        };
        format!("nvlink {severity}: {}", self.text)
    }
}

/// As many of these names as a message bears, if there are any.
///
/// ```
/// # use rustnvlink::diagnostic::some_of;
/// let names = ["a.o", "b.o", "c.o", "d.o"].map(str::to_owned);
/// assert_eq!(some_of(&names).unwrap(), "'a.o', 'b.o', 'c.o' and 1 more");
/// assert_eq!(some_of(&[]), None);
/// ```
pub fn some_of(names: &[String]) -> Option<String> {
    const SHOWN: usize = 3;
    let (first, others) = names.split_at(names.len().min(SHOWN));
    let first: Vec<String> = first.iter().map(|name| format!("'{name}'")).collect();
    let others = match others.len() {
        0 => String::new(),
        number => format!(" and {number} more"),
    };
    (!first.is_empty()).then(|| format!("{}{others}", first.join(", ")))
}

/// The messages of one link, in the order in which they came up.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    messages: Vec<Diagnostic>,
    /// The greatest severity of all.
    worst: Option<Severity>,
    /// Whether options about messages do not apply to those to come.
    forgets_options: bool,
}

impl Diagnostics {
    /// Adds a message.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        diagnostic.is_settled |= self.forgets_options;
        self.worst = self.worst.max(Some(diagnostic.severity));
        self.messages.push(diagnostic);
    }

    /// From now on, options about messages do not apply to new ones: nvlink forgets them when it compiles PTX (case
    /// `forgotten_options`).
    pub(crate) fn forget_options(&mut self) {
        self.forgets_options = true;
    }

    /// Whether [`Self::forget_options`] was called.
    pub(crate) fn forgets_options(&self) -> bool {
        self.forgets_options
    }

    /// Takes out what was said after the first `count` messages.
    pub(crate) fn split_off(&mut self, count: usize) -> Self {
        let messages = self.messages.split_off(count);
        let worst = |messages: &[Diagnostic]| messages.iter().map(|m| m.severity).max();
        self.worst = worst(&self.messages);
        Self {
            worst: worst(&messages),
            messages,
            forgets_options: false,
        }
    }

    /// Adds all messages of others.
    pub(crate) fn append(&mut self, mut others: Self) {
        self.worst = self.worst.max(others.worst);
        self.messages.append(&mut others.messages);
    }

    /// Whether some message makes the link fail.
    pub fn has_errors(&self) -> bool {
        self.worst >= Some(Severity::Error)
    }

    /// Whether some message is a warning.
    pub(crate) fn has_warnings(&self) -> bool {
        self.messages
            .iter()
            .any(|m| m.severity == Severity::Warning)
    }

    /// Whether some message ends the link at once.
    pub fn has_fatal(&self) -> bool {
        self.worst == Some(Severity::Fatal)
    }

    /// The messages that make the link fail.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        let messages = self.messages.iter();
        messages.filter(|message| message.severity >= Severity::Error)
    }

    /// Whether a message has this code.
    pub fn has(&self, code: Code) -> bool {
        self.messages.iter().any(|message| message.code == code)
    }

    /// All messages.
    pub fn messages(&self) -> &[Diagnostic] {
        &self.messages
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, messages: I) {
        messages.into_iter().for_each(|message| self.push(message));
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(messages: I) -> Self {
        let mut all = Self::default();
        all.extend(messages);
        all
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.messages.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.messages.iter()
    }
}
