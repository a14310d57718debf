//! Link-time optimization: LTO-IR becomes PTX in NVIDIA's library.

mod origins;

use std::path::PathBuf;

use cudalink_jitlink::{Error, Input, Kind, Library, Linked};

use super::recorded::{Agreed, Record};
use super::{Behaviour, Environment, Limits, Processor, ToolError};
use crate::arch::Sm;
use crate::arch::reserved::is_provided_by_driver;
use crate::codes;
use crate::diagnostic::{Diagnostic, Severity};
pub(crate) use origins::Explainer;
use origins::Origins;

/// The name of what comes of LTO-IR in messages.
pub(super) const OBJECT: &str = "lto.cubin";

/// How LTO-IR is optimized.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LinkTime {
    /// The library that does it, unless it is to be looked for.
    pub library: Option<PathBuf>,
    /// What the library is told beside the processor.
    pub options: Vec<String>,
    /// Its threads, where they are not as many as the assembler's.
    pub threads: Option<i32>,
    /// Whether PTX is the result instead of an image.
    pub emit_ptx: bool,
    /// What the optimizer may take for granted.
    pub scope: Scope,
}

impl LinkTime {
    /// The defaults, with this library, or one that is looked for.
    pub fn new(library: Option<PathBuf>) -> Self {
        Self {
            library,
            ..Self::default()
        }
    }
}

/// What the optimizer may take for granted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// That it sees the whole program, if there is no machine code beside it.
    #[default]
    Program,
    /// Nothing: other objects may use all that is visible to them.
    Part,
}

/// LTO-IR, perhaps in a container.
#[derive(Debug)]
pub(super) struct Intermediate<'d> {
    /// The name messages use.
    pub(super) name: String,
    /// What it is.
    pub(super) kind: Kind,
    /// Its bytes.
    pub(super) data: &'d [u8],
    /// What it was compiled with, if a fatbin says it.
    pub(super) record: Option<Record>,
    /// How many objects come before it.
    pub(super) place: usize,
    pub(super) holder: Holder,
}

/// What holds LTO-IR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// A host object.
    Object,
    /// A file that holds nothing else, or a fatbin.
    File,
}

/// What the library made.
#[derive(Debug)]
pub(super) struct Optimized {
    pub(super) ptx: Vec<u8>,
    /// What else it said.
    pub(super) said: Vec<String>,
}

/// What the library is told in every call.
#[derive(Debug)]
pub(super) struct Optimizer<'a> {
    pub(super) settings: &'a LinkTime,
    /// What the inputs say of how they are to be compiled.
    pub(super) agreed: &'a Agreed,
    pub(super) processor: &'a Processor,
    pub(super) environment: &'a Environment,
    pub(super) behaviour: Behaviour,
}

impl Optimizer<'_> {
    /// Makes PTX of everything; `compiler_options` go through to the compiler
    /// in the library.
    pub(super) fn optimize(
        &self,
        library: &Library,
        compiler_options: &[String],
        intermediates: &[Intermediate<'_>],
    ) -> Result<Optimized, Vec<Diagnostic>> {
        let linked = self
            .link(library, compiler_options, intermediates)
            .map_err(|error| self.failed(&error, library, intermediates))?;
        let said = match self.behaviour {
            Behaviour::Nvlink => [linked.log, linked.remarks],
            Behaviour::Own => [without_trace(&linked.log), linked.remarks.trim().to_owned()],
        };
        let said = said.into_iter();
        let target = match self.behaviour {
            // nvlink drops the letter, and refuses what only this processor or
            // its family has.
            Behaviour::Nvlink => Sm::new(self.processor.sm.number),
            Behaviour::Own => self.processor.sm,
        };
        Ok(Optimized {
            ptx: with_target(linked.ptx, target),
            said: said.filter(|text| !text.is_empty()).collect(),
        })
    }

    fn link(
        &self,
        library: &Library,
        compiler_options: &[String],
        intermediates: &[Intermediate<'_>],
    ) -> Result<Linked, Error> {
        let inputs: Vec<Input<'_>> = intermediates.iter().map(Intermediate::input).collect();
        let mut options = self.options();
        let for_compiler = compiler_options.iter();
        options.extend(for_compiler.map(|option| format!("-Xnvvm={option}")));
        library.link(&options, &inputs)
    }

    /// What there is to say where the library refuses.
    fn failed(
        &self,
        error: &Error,
        library: &Library,
        intermediates: &[Intermediate<'_>],
    ) -> Vec<Diagnostic> {
        let known = match self.behaviour {
            Behaviour::Nvlink => as_nvlink(error),
            // It names one of the inputs, and the first such name.
            Behaviour::Own if is_about_two_definitions(error) => {
                Some(Origins::find(self, library, intermediates).twice_defined())
            }
            Behaviour::Own => None,
        };
        known
            .filter(|messages| !messages.is_empty())
            .unwrap_or_else(|| vec![lto_failed(error)])
    }

    /// What the library is told of the processor, by the link and for the
    /// inputs.
    fn options(&self) -> Vec<String> {
        let mut options = ["-lto", "-ptx"].map(str::to_owned).to_vec();
        options.push(format!("-arch={}", self.processor.sm));
        options.extend(self.settings.options.iter().cloned());
        let Limits { registers, threads } = self.agreed.limits;
        options.extend(registers.map(|count| format!("-maxrregcount={count}")));
        // The library knows one way of splitting.
        let threads = self.settings.threads.or(threads);
        // nvlink leaves it to the assembler to refuse numbers below 0.
        let is_passed = |count: &i32| *count >= 0 || self.behaviour == Behaviour::Own;
        let threads = threads.filter(is_passed);
        options.extend(threads.map(|count| format!("-split-compile={count}")));
        // The compiler in the library takes each of these once, and what the link says comes first.
        let is_said = |option: &str| {
            let name = option.split('=').next().unwrap_or(option);
            let mut said = self.settings.options.iter();
            said.any(|said| said.contains(name))
        };
        let inexact = self.agreed.inexact.iter().map(|option| option.to_string());
        options.extend(inexact.filter(|option| !is_said(option)));
        if self.agreed.remarks {
            options.push("-Xnvvm=-inline-info".to_owned());
        }
        options
    }
}

impl LinkTime {
    /// The library that optimizes LTO-IR, which an input of this name has.
    pub(super) fn library(
        &self,
        name: &str,
        environment: &Environment,
    ) -> Result<Library, Diagnostic> {
        let path = match &self.library {
            Some(path) => Ok(environment.folder.join(path)),
            None => environment.tools.jitlink(),
        };
        let path = path.map_err(|why| no_library(name, why))?;
        Library::open(&path).map_err(|error| lto_failed(&error))
    }
}

impl Intermediate<'_> {
    fn input(&self) -> Input<'_> {
        Input {
            kind: self.kind,
            name: &self.name,
            data: self.data,
        }
    }

    /// What there is to say where the library does not take it, as that of an older toolkit than its compiler's.
    pub(super) fn refusal(
        &self,
        library: &Library,
        sm: Sm,
        behaviour: Behaviour,
    ) -> Option<Diagnostic> {
        let options = ["-lto".to_owned(), format!("-arch={sm}")];
        let error = library.check(&options, &self.input()).err()?;
        let said = error.to_string();
        Some(match behaviour {
            // The compiler in the library names itself where it is what refuses.
            Behaviour::Nvlink if said.contains("nvvm") => {
                Diagnostic::fatal(codes::LTO_FAILED, "elfLink nvvm error")
            }
            Behaviour::Nvlink => Diagnostic::fatal(codes::LTO_FAILED, "elfLink fatbinary error"),
            Behaviour::Own => {
                let text = format!("libnvJitLink does not take the LTO-IR in '{}'", self.name);
                Diagnostic::fatal(codes::LTO_FAILED, text)
                    .with_detail(said)
                    .of_input(&self.name)
            }
        })
    }
}

/// Says that an input has LTO-IR, and nothing is there that optimizes it.
fn no_library(name: &str, why: ToolError) -> Diagnostic {
    let text = format!("'{name}' has LTO-IR, and libnvJitLink, which compiles it, is not there");
    Diagnostic::fatal(codes::MISSING_NVJITLINK, text).with_detail(why)
}

/// PTX with the name of this processor. The library leaves out the letter of a
/// family, and names the processor otherwise.
fn with_target(mut ptx: Vec<u8>, sm: Sm) -> Vec<u8> {
    let directive = b"\n.target ";
    let is_directive = |window: &[u8]| window == directive;
    if let Some(start) = ptx.windows(directive.len()).position(is_directive) {
        let start = start + directive.len();
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let length = ptx[start..].iter().take_while(is_name).count();
        ptx.splice(start..start + length, sm.to_string().into_bytes());
    }
    ptx
}

/// What the library said, without the steps of its work that newer ones tell of.
fn without_trace(log: &str) -> String {
    let said = log.lines().filter(|line| !line.starts_with("INFO: "));
    said.collect::<Vec<_>>().join("\n")
}

fn lto_failed(error: &Error) -> Diagnostic {
    Diagnostic::fatal(codes::LTO_FAILED, error.to_string())
}

/// Whether two inputs define one name.
fn is_about_two_definitions(error: &Error) -> bool {
    matches!(error, Error::Call { log, .. } if log.contains("symbol multiply defined"))
}

/// What nvlink says where the library refuses: it passes on what the compiler
/// in the library says, with the name of the error behind it.
fn as_nvlink(error: &Error) -> Option<Vec<Diagnostic>> {
    let Error::Call { call, log, .. } = error else {
        return None;
    };
    if *call != "nvJitLinkComplete" {
        return None;
    }
    let (_, failure) = log.split_once("nvvmCompileProgram: ")?;
    let (name, said) = failure.split_once('\n')?;
    let said = Diagnostic::new(Severity::Info, codes::LTO_LOG, format!("{said}{name}"));
    Some(vec![
        said,
        Diagnostic::fatal(codes::LTO_FAILED, "elfLink JIT compile failed"),
    ])
}

/// Whether there is a kernel.
pub(super) fn has_kernel(ptx: &[u8]) -> bool {
    kernels(&String::from_utf8_lossy(ptx)).next().is_some()
}

/// The names of kernels, where they follow what says so on its line.
pub(super) fn kernels(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_kernel = words.by_ref().take(2).any(|word| word == ".entry");
        let name = words.next().filter(|_| is_kernel)?;
        name.split('(').next()
    })
}

/// Whether a program has to be linked: it uses functions or variables that
/// neither it nor the driver defines, or defines functions for others.
pub(super) fn needs_others(ptx: &[u8]) -> bool {
    declarations(&String::from_utf8_lossy(ptx)).any(|declaration| match declaration.is_needed {
        true => !is_provided_by_driver(declaration.name, declaration.is_function),
        false => declaration.is_function && declaration.is_visible,
    })
}

/// A name that PTX shares with other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Declaration<'p> {
    pub(super) name: &'p str,
    /// Whether another file has to define it.
    pub(super) is_needed: bool,
    /// Whether no other file may define it.
    is_visible: bool,
    /// Whether it is a function that device code calls.
    pub(super) is_function: bool,
}

/// The names that PTX shares with other files, where a line begins with them,
/// as those of the compiler do. Shared memory whose size is chosen at launch is
/// none.
pub(super) fn declarations(ptx: &str) -> impl Iterator<Item = Declaration<'_>> {
    ptx.lines().filter_map(|line| {
        let (linkage, declared) = line.trim_start().split_once(' ')?;
        let declared = declared.trim_start();
        let is_needed = linkage == ".extern";
        let is_linkage = is_needed || matches!(linkage, ".visible" | ".weak" | ".common");
        if !is_linkage || is_needed && declared.starts_with(".shared") {
            return None;
        }
        let function = declared.strip_prefix(".func");
        let name = match function.or_else(|| declared.strip_prefix(".entry")) {
            Some(code) => code_name(code),
            None => variable_name(declared),
        };
        Some(Declaration {
            name,
            is_needed,
            is_visible: linkage == ".visible",
            is_function: function.is_some(),
        })
    })
}

/// The name in a declaration, behind what the function returns.
fn code_name(declaration: &str) -> &str {
    let rest = declaration.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(result) => result.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    let rest = rest.trim_start();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    rest.split(|c| !is_part(c)).next().unwrap_or_default()
}

/// The last word before the length, the value or the end.
fn variable_name(declaration: &str) -> &str {
    let words = declaration.split(['[', '=', ';']).next();
    words
        .unwrap_or_default()
        .split_whitespace()
        .next_back()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{declarations, has_kernel, kernels, needs_others, with_target};

    #[test]
    fn names_are_those_of_functions_kernels_and_variables() {
        let check = |ptx: &str, expected: &[(&str, bool)]| {
            let found: Vec<_> = declarations(ptx).map(|d| (d.name, d.is_needed)).collect();
            assert_eq!(found, expected, "{ptx}");
        };
        check(
            ".visible .entry k(\n.weak .func (.param .b32 r) f(\n.func local(",
            &[("k", false), ("f", false)],
        );
        check(
            ".visible .global .align 4 .u32 v = 5;\n.weak .const .b8 c[4] = {1};\n.common .global .u32 n;",
            &[("v", false), ("c", false), ("n", false)],
        );
        check(
            ".extern .global .align 4 .u32 v;\n.extern .func g\n(\n.extern .shared .b8 s[];",
            &[("v", true), ("g", true)],
        );
    }

    #[test]
    fn kernels_are_named() {
        let ptx = ".visible .entry k(\n.weak .func f(\n\t.entry local (\n.entry last()";
        assert!(kernels(ptx).eq(["k", "local", "last"]));
    }

    #[test]
    fn the_target_gets_a_name() {
        let check = |ptx: &str, sm: &str, expected: &str| {
            let made = with_target(ptx.as_bytes().to_vec(), sm.parse().unwrap());
            assert_eq!(String::from_utf8(made).unwrap(), expected, "{ptx} for {sm}");
        };
        let plain = ".version 9.0\n.target sm_100\n.address_size 64\n";
        let family = ".version 9.0\n.target sm_100f\n.address_size 64\n";
        check(plain, "sm_100", plain);
        check(plain, "sm_100f", family);
        check(family, "sm_100f", family);
        check(family, "sm_100", plain);
        check(
            "\n.target sm_90a, debug\n",
            "sm_90",
            "\n.target sm_90, debug\n",
        );
        check("\n.target sm_90", "sm_90a", "\n.target sm_90a");
        check("// \n", "sm_90a", "// \n");
    }

    #[test]
    fn declarations_of_the_driver_need_no_others() {
        let check =
            |ptx: &str, expected| assert_eq!(needs_others(ptx.as_bytes()), expected, "{ptx}");
        check(".version 9.0\n.func f() { ret; }", false);
        check(".version 9.0\n.visible .func f() { ret; }", true);
        check(
            ".extern .func  (.param .b32 func_retval0) vprintf\n(",
            false,
        );
        check(".extern .func  (.param .b32 func_retval0) _Z1fi\n(", true);
        check(".extern .func g();", true);
        check(".extern .shared .align 4 .b8 s[];", false);
        check("\t.extern .global .align 4 .u32 v;", true);
    }

    #[test]
    fn kernels_are_visible_or_static() {
        let check = |ptx: &str, expected| assert_eq!(has_kernel(ptx.as_bytes()), expected, "{ptx}");
        check(".version 9.0\n.visible .entry k(", true);
        check(".version 9.0\n.entry k(", true);
        check(".visible .func entry() { ret; }", false);
        check(".weak .global .align 4 .u32 v = 1;", false);
    }
}
