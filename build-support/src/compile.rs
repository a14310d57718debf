//! Runs nvcc.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cudalink_toolkit::launcher;
use rustnvlink::arch::Sm;

use crate::environment;
use crate::error::Error;
use crate::output;
use crate::record::{Record, Surroundings};

/// What nvcc makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    /// A host object with relocatable device code for all processors.
    Object,
    /// Relocatable device code for all processors, and no host code.
    Fatbin,
    /// Relocatable device code for one processor.
    Cubin(Sm),
    /// Text that the driver compiles, for one processor and later ones.
    Ptx(Sm),
}

impl Product {
    fn flag(self) -> &'static str {
        match self {
            Self::Object => "-c",
            Self::Fatbin => "-fatbin",
            Self::Cubin(_) => "-cubin",
            Self::Ptx(_) => "-ptx",
        }
    }

    /// The file name for a source of this name.
    pub(crate) fn file_name(self, stem: &str) -> String {
        match self {
            Self::Object => format!("{stem}.o"),
            Self::Fatbin => format!("{stem}.fatbin"),
            Self::Cubin(sm) => format!("{stem}.{sm}.cubin"),
            Self::Ptx(sm) => format!("{stem}.{sm}.ptx"),
        }
    }
}

/// A file that was compiled.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// What it was made of.
    pub(crate) source: PathBuf,
}

/// How nvcc is run.
#[derive(Debug)]
pub(crate) struct Compiler {
    /// What runs the program, such as `ccache`, with its arguments.
    pub(crate) launcher: Vec<PathBuf>,
    /// The program.
    pub(crate) nvcc: PathBuf,
    /// The root of the toolkit.
    pub(crate) toolkit: PathBuf,
    /// The host compiler behind it.
    pub(crate) host: PathBuf,
    /// Arguments for every source.
    pub(crate) arguments: Vec<OsString>,
    /// The processors.
    pub(crate) targets: Vec<Sm>,
    /// What is made for them.
    pub(crate) code: Code,
    /// What else the result depends on.
    pub(crate) surroundings: Option<Surroundings>,
}

/// What device code is compiled to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// What the processor runs.
    Machine,
    /// LTO-IR, which the device link optimizes.
    LinkTime,
}

impl Compiler {
    /// Compiles every source, several at once, and tells cargo of all files that were read.
    pub(crate) fn compile(
        &self,
        sources: &[PathBuf],
        product: Product,
        folder: &Path,
    ) -> Result<Vec<Compiled>, Error> {
        if let Some(missing) = sources.iter().find(|source| !source.is_file()) {
            // Build scripts run in the folder of their package, which not all know.
            let path = std::path::absolute(missing).unwrap_or_else(|_| missing.clone());
            return Err(match path.is_dir() {
                true => Error::SourceFolder(path),
                false => Error::NoSource(path),
            });
        }
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let made: Vec<Compiled> = names(sources, product)?
            .into_iter()
            .zip(sources)
            .map(|(name, source)| Compiled {
                path: folder.join(name),
                source: source.clone(),
            })
            .collect();
        let jobs = environment::jobs()?;
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), Error> {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(Compiled { path, source }) = made.get(index) else {
                    return Ok(());
                };
                self.compile_one(source, product, path)?;
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (1..jobs.min(sources.len()))
                .map(|_| scope.spawn(work))
                .collect();
            let own = work();
            let others = workers
                .into_iter()
                .map(|worker| worker.join().expect("workers do not panic"));
            others.fold(own, Result::and)
        })?;
        let mut read: BTreeSet<PathBuf> = sources.iter().cloned().collect();
        for one in &made {
            read.extend(self.read_for(&one.path)?);
        }
        for path in &read {
            output::depends_on(path);
        }
        Ok(made)
    }

    /// The names of what is made of these sources, and how it is made.
    pub(crate) fn ways(
        &self,
        sources: &[PathBuf],
        product: Product,
    ) -> Result<Vec<(String, String)>, Error> {
        let way = |source| format!("{:?}", self.command(source, product, Path::new("")));
        let names = names(sources, product)?.into_iter().zip(sources);
        Ok(names.map(|(name, source)| (name, way(source))).collect())
    }

    /// Compiles a source, unless that was done in the same way and nothing that was read for it has changed since.
    fn compile_one(&self, source: &Path, product: Product, made: &Path) -> Result<(), Error> {
        let mut command = self.command(source, product, made);
        let record = self.surroundings.as_ref().map(|surroundings| Record {
            made,
            text: format!("{command:?}\n{surroundings:?}\n"),
        });
        if record.as_ref().is_some_and(Record::holds) {
            return Ok(());
        }
        let begun = record.as_ref().map(Record::begin).transpose()?;
        let ran = command.output().map_err(|error| Error::NoCompiler {
            path: command.get_program().into(),
            error,
        })?;
        let mut text = String::from_utf8_lossy(&ran.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&ran.stderr));
        if !ran.status.success() {
            let mut text = text.trim_end().to_owned();
            if is_about_host_compiler(&text) {
                text.push('\n');
                text.push_str(OTHER_HOST_COMPILER);
            }
            return Err(Error::Compile {
                source_file: source.to_owned(),
                command: format!("{command:?}"),
                text,
            });
        }
        output::message("warning", &text);
        match begun {
            // Who has not heeded a warning sees it again.
            Some(begun) if text.is_empty() => begun.end(),
            _ => Ok(()),
        }
    }

    fn command(&self, source: &Path, product: Product, made: &Path) -> Command {
        let mut command = launcher::command(&self.launcher, &self.nvcc);
        command.arg("-ccbin").arg(&self.host);
        match product {
            Product::Ptx(sm) => {
                let number = sm.number_and_letter();
                command.arg(format!("-arch=compute_{number}"));
            }
            Product::Cubin(sm) => {
                command.arg(format!("-arch={sm}")).arg("-rdc=true");
            }
            Product::Object | Product::Fatbin => {
                command.arg("-rdc=true");
                for sm in &self.targets {
                    let number = sm.number_and_letter();
                    let kind = match self.code {
                        Code::Machine => "sm",
                        Code::LinkTime => "lto",
                    };
                    command.arg(format!(
                        "--generate-code=arch=compute_{number},code={kind}_{number}"
                    ));
                }
            }
        }
        if product == Product::Object {
            command.args(["-Xcompiler", "-fPIC"]);
        }
        command
            .args(&self.arguments)
            .args(["-MD", "-MF"])
            .arg(dependencies(made))
            .arg(product.flag())
            .arg(source)
            .arg("-o")
            .arg(made);
        command
    }

    /// What the compiler has read, but for headers of the system and the toolkit.
    fn read_for(&self, made: &Path) -> Result<Vec<PathBuf>, Error> {
        let path = dependencies(made);
        let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
        Ok(prerequisites(&text)
            .into_iter()
            .map(PathBuf::from)
            .filter(|path| !path.starts_with("/usr") && !path.starts_with(&self.toolkit))
            .collect())
    }
}

/// What to do where the host compiler does not serve.
const OTHER_HOST_COMPILER: &str = "help: NVCC_CCBIN or CXX names another host compiler; for device code alone (embed, cubin, ptx) \
    that of this machine does, also where the program is for another one";

/// Whether nvcc does not find its host compiler, or does not take it.
fn is_about_host_compiler(said: &str) -> bool {
    // The second is what its headers say of compilers that are too old or too new.
    let parts = [
        "Failed to preprocess host compiler properties",
        "#error -- unsupported ",
    ];
    parts.iter().any(|part| said.contains(part))
}

/// The file names of what becomes of sources.
pub(crate) fn names(sources: &[PathBuf], product: Product) -> Result<Vec<String>, Error> {
    let mut names = Vec::with_capacity(sources.len());
    for source in sources {
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let name = product.file_name(&stem);
        if let Some(earlier) = names.iter().position(|known| *known == name) {
            let (earlier, source) = (sources[earlier].clone(), source.clone());
            return Err(match earlier == source {
                true => Error::Twice(source),
                false => Error::SameName(earlier, source),
            });
        }
        names.push(name);
    }
    Ok(names)
}

pub(crate) fn dependencies(made: &Path) -> PathBuf {
    let mut path = made.as_os_str().to_owned();
    path.push(".d");
    path.into()
}

/// The files behind the colon of a rule for make, in which a backslash takes the meaning of a blank, a number sign or a
/// line end, and a dollar sign that of another one.
pub(crate) fn prerequisites(rule: &str) -> Vec<String> {
    let rule = rule.replace("\\\n", " ");
    let Some((_, files)) = rule.split_once(": ").or_else(|| rule.split_once(" :")) else {
        return Vec::new();
    };
    let mut words = vec![String::new()];
    let mut characters = files.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' | '$' if is_escape(character, characters.peek()) => {
                let escaped = characters.next();
                words.last_mut().expect("never empty").extend(escaped);
            }
            character if character.is_whitespace() => words.push(String::new()),
            character => words.last_mut().expect("never empty").push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_escape(character: char, next: Option<&char>) -> bool {
    matches!(
        (character, next),
        ('\\', Some(' ' | '#')) | ('$', Some('$'))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_what_was_read() {
        let check = |rule: &str, expected: &[&str]| assert_eq!(prerequisites(rule), expected);
        check(
            "a.o : a.cu \\\n    /usr/x.h b.h\n",
            &["a.cu", "/usr/x.h", "b.h"],
        );
        check("a.o: my\\ file.cu\n", &["my file.cu"]);
        check("a.o: h\\#1\\ $$x.h a\\b $y\n", &["h#1 $x.h", "a\\b", "$y"]);
        check("", &[]);
    }

    #[test]
    fn sources_of_one_name_are_refused() {
        let check = |sources: &[&str]| {
            let sources: Vec<PathBuf> = sources.iter().map(PathBuf::from).collect();
            names(&sources, Product::Object)
        };
        assert_eq!(check(&["a/x.cu", "a/y.cu"]).unwrap(), ["x.o", "y.o"]);
        let error = check(&["a/x.cu", "b/x.cu"]).unwrap_err();
        let text = "a/x.cu and b/x.cu have one file name, ";
        assert!(error.to_string().starts_with(text), "{error}");
        let error = check(&["a/x.cu", "a/./x.cu"]).unwrap_err();
        assert_eq!(error.to_string(), "the source a/./x.cu is named twice");
    }
}
