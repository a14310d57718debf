//! PTX becomes device objects: the assembler is a program of the toolkit.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Behaviour, Environment, ToolError};
use crate::arch::{Sm, Suffix};
use crate::codes;
use crate::cubin::{Content, Cubin, ToolNote};
use crate::diagnostic::Diagnostic;
use crate::parallel;
use crate::temporary::Folder;

/// What the file is called in which the assembler gets PTX: the words that
/// nvlink has for any input in messages of its own assembler.
const INPUT: &str = "application ptx input";

/// What the object is called that the assembler makes.
const OUTPUT: &str = "elf.o";

/// What the assembler says of PTX for a later one.
const UNKNOWN_VERSION: &str = "; fatal   : Unsupported .version ";

/// Its last words of PTX with errors, which nvlink's own leaves out behind those.
const ABORTED: &str = "ptxas fatal   : Ptx assembly aborted due to errors\n";

/// Each source is worth a thread, however short it is.
const EFFORT: usize = usize::MAX;

/// How PTX is assembled in one link.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Assembler {
    /// The program, unless it is to be looked for.
    pub program: Option<PathBuf>,
    /// Arguments beside those that every link gives.
    pub arguments: Vec<String>,
    /// What the link says of limits.
    pub limits: Limits,
    /// An option among them at which nvlink ends as soon as there is device code in a fatbin, or PTX.
    pub(crate) unspeakable: Option<&'static str>,
}

impl Assembler {
    /// The defaults, with this program, or one that is looked for.
    pub fn new(program: Option<PathBuf>) -> Self {
        Self {
            program,
            ..Self::default()
        }
    }
}

/// What compilers may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Registers of a thread on the processor.
    pub registers: Option<i32>,
    /// Threads of the compilers themselves; 0 is as many as there are processors.
    pub threads: Option<i32>,
}

impl Limits {
    /// The arguments that say so.
    fn arguments(self) -> impl Iterator<Item = String> {
        let registers = self.registers.filter(|count| *count > 0);
        let threads = self.threads.filter(|count| *count != 1);
        let registers = registers.map(|count| format!("--maxrregcount={count}"));
        registers
            .into_iter()
            .chain(threads.map(|count| format!("--split-compile={count}")))
    }
}

/// What the assembler makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    /// An object that has to be linked.
    Object,
    /// An image.
    Program,
}

/// What becomes of an object made of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Linked,
    LeftOut,
}

/// PTX that waits for the assembler.
#[derive(Debug)]
pub(crate) struct Source<'d> {
    /// The input it comes from.
    pub(crate) name: String,
    pub(crate) text: Cow<'d, [u8]>,
    /// What the compiler that wrote it wants the assembler to be told.
    pub(crate) options: Vec<String>,
    pub(crate) fate: Fate,
    /// Whether it is a file of its own.
    pub(crate) is_file: bool,
}

/// What came of one source.
#[derive(Debug)]
pub(crate) struct Assembled {
    /// What the assembler printed.
    pub(crate) printed: String,
    /// What it made, or why there is nothing.
    pub(crate) product: Result<Vec<u8>, Diagnostic>,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

/// The assembler of one link.
#[derive(Debug)]
pub(crate) struct Ptxas<'a> {
    program: PathBuf,
    /// Where it runs: arguments may name files there.
    folder: &'a Path,
    arguments: &'a [String],
    limits: Limits,
    target: Sm,
    behaviour: Behaviour,
}

impl<'a> Ptxas<'a> {
    /// Finds the program, or says where it was looked for.
    pub(crate) fn find(
        assembler: &'a Assembler,
        target: Sm,
        behaviour: Behaviour,
        environment: &'a Environment,
    ) -> Result<Self, ToolError> {
        let program = match &assembler.program {
            Some(program) => program.clone(),
            None => environment.tools.ptxas()?,
        };
        // A name alone is looked for on PATH, any other where the link runs.
        let program = match program.parent() {
            Some(folder) if folder != Path::new("") => environment.folder.join(program),
            Some(_) | None => program,
        };
        Ok(Self {
            program,
            folder: &environment.folder,
            arguments: &assembler.arguments,
            limits: assembler.limits,
            target,
            behaviour,
        })
    }

    /// The same assembler with other limits.
    pub(crate) fn limited(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Assembles all sources, as many at once as there are processors.
    pub(crate) fn assemble(&self, sources: &[&Source<'_>], product: Product) -> Vec<Assembled> {
        let assemble = |source: &&Source<'_>| self.assemble_one(source, product);
        parallel::map(sources, EFFORT, assemble)
    }

    /// Assembles one source.
    pub(crate) fn assemble_one(&self, source: &Source<'_>, product: Product) -> Assembled {
        let start = Instant::now();
        let mut printed = String::new();
        let made = self.try_assemble(source, product, &mut printed);
        let product = made.unwrap_or_else(|why| {
            let text = format!("Could not run '{}'", self.program.display());
            Err(Diagnostic::fatal(codes::PTXAS_FAILED, text).with_detail(why))
        });
        match self.behaviour {
            Behaviour::Nvlink if printed.contains(UNKNOWN_VERSION) => {
                printed = printed.replace(ABORTED, "");
            }
            Behaviour::Nvlink => {}
            Behaviour::Own => printed = printed.replace(INPUT, &source.name),
        }
        Assembled {
            printed,
            product,
            elapsed: start.elapsed(),
        }
    }

    /// Runs the assembler on a file with the PTX. What it prints is added to `printed`. The outer error is one of the
    /// system.
    fn try_assemble(
        &self,
        source: &Source<'_>,
        product: Product,
        printed: &mut String,
    ) -> io::Result<Result<Vec<u8>, Diagnostic>> {
        let temporary = match temporary_folder() {
            Ok(folder) => folder,
            Err(problem) => return Ok(Err(problem)),
        };
        // The assembler runs where the link does, and messages do not show where its files are.
        let files = self.folder.join(temporary.path());
        let (input, made) = (files.join(INPUT), files.join(OUTPUT));
        std::fs::write(&input, &source.text)?;
        // nvlink has what is for a family assembled for its first member.
        let target = match (self.behaviour, self.target.suffix) {
            (Behaviour::Nvlink, Some(Suffix::F)) => Sm {
                suffix: None,
                ..self.target
            },
            _ => self.target,
        };
        let mut command = Command::new(&self.program);
        if self.folder != Path::new("") {
            command.current_dir(self.folder);
        }
        command.args(["-arch", &target.to_string(), "-m", "64"]);
        if product == Product::Object {
            command.arg("-c");
        }
        let output = command
            .args(&source.options)
            .args(self.arguments)
            .args(self.limits.arguments())
            .args([&input, Path::new("-o"), &made])
            .output()?;
        let prefix = files.join("");
        for stream in [output.stdout, output.stderr] {
            let said = String::from_utf8_lossy(&stream);
            printed.push_str(&said.replace(&*prefix.to_string_lossy(), ""));
        }
        if output.status.success() {
            let object = std::fs::read(&made)?;
            return Ok(Ok(without_file_names(&object).unwrap_or(object)));
        }
        let text = "elfLink fatbinary error";
        let failed = Diagnostic::fatal(codes::PTXAS_FAILED, text);
        Ok(Err(failed.with_detail(format_args!(
            "'{}' made nothing of the PTX in '{}' ({})",
            self.program.display(),
            source.name,
            output.status
        ))))
    }
}

/// A folder for the files of one assembler.
fn temporary_folder() -> Result<Folder, Diagnostic> {
    Folder::new().map_err(|why| {
        let text = "Could not make a folder for temporary files";
        Diagnostic::fatal(codes::NO_TEMPORARY_FOLDER, text).with_detail(why)
    })
}

/// Takes the names of files out of the note that the assembler wrote: with `-g`
/// they are there, but the link has no such files (case `ptx_options`). Nothing
/// if they are not there.
fn without_file_names(object: &[u8]) -> Option<Vec<u8>> {
    let mut cubin = Cubin::parse(object).ok()?;
    let mut sections = cubin.sections.iter();
    let index = sections.position(|section| section.name == ToolNote::SECTION)?;
    let Content::Notes(notes) = &mut cubin.sections[index].content else {
        return None;
    };
    let note = notes.first_mut()?;
    let tool = ToolNote::parse(note.description).ok()?;
    let options = tool.options.strip_prefix(INPUT)?.trim_start();
    let options = options.replace(&format!("-o {OUTPUT} "), "");
    let description = ToolNote {
        options: &options,
        ..tool
    };
    let description = description.encode();
    note.description = &description;
    cubin.shift_behind(index).ok()?;
    cubin.encode().ok()
}
