//! Compiles the units of a program and packs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cudalink_toolkit::Tool;
use rustnvlink_tests::process::{self, Ended, Exit};
use rustnvlink_tests::toolkit::{self, Toolkit};

use crate::build::{Carrier, Images};
use crate::program::{Language, Program, Unit};
use crate::ptx::VERSION;
use crate::target::Target;

/// Generated programs are small; a compiler that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// The version of PTX that the assemblers of a release take, from the oldest one that knows sm_90 on.
const VERSIONS: &[(&str, &str)] = &[
    ("12.0", "8.0"),
    ("12.1", "8.1"),
    ("12.2", "8.2"),
    ("12.3", "8.3"),
    ("12.4", "8.4"),
    ("12.5", "8.5"),
    ("12.6", "8.5"),
    ("12.7", "8.6"),
    ("12.8", "8.7"),
    ("12.9", "8.8"),
];

/// The tools that make inputs of links.
#[derive(Debug)]
pub(crate) struct Compilers {
    pub(crate) ptxas: PathBuf,
    pub(crate) older: Vec<Older>,
    pub(crate) nvcc: PathBuf,
    pub(crate) fatbinary: PathBuf,
    /// The folder of the toolkit.
    pub(crate) root: PathBuf,
}

/// An assembler of an older release.
#[derive(Debug)]
pub(crate) struct Older {
    ptxas: PathBuf,
    version: &'static str,
}

impl Older {
    /// Asks an assembler which release it is of.
    pub(crate) fn new(ptxas: &Path) -> Result<Self> {
        let ended = process::run(ptxas, &["--version".to_owned()], Path::new("/"), LIMIT)?;
        let release = ended
            .stdout
            .split_once("release ")
            .and_then(|(_, rest)| rest.split_once(','))
            .with_context(|| format!("{} does not tell its release", ptxas.display()))?
            .0;
        let version = VERSIONS.iter().find(|(name, _)| *name == release);
        let (_, version) =
            version.with_context(|| format!("no version of PTX is known for {release}"))?;
        Ok(Self {
            ptxas: ptxas.to_owned(),
            version,
        })
    }
}

/// A tool did not take what it was given; the text says why.
type Rejected = String;

impl Compilers {
    pub(crate) fn new(toolkit: &Toolkit, older: &[PathBuf]) -> Result<Self> {
        let nvcc = toolkit.tool(Tool::Nvcc)?;
        let root = nvcc.parent().and_then(Path::parent);
        Ok(Self {
            ptxas: toolkit.tool(Tool::Ptxas)?,
            older: older
                .iter()
                .map(|path| Older::new(path))
                .collect::<Result<_>>()?,
            fatbinary: toolkit.tool(Tool::Fatbinary)?,
            root: root.context("nvcc lies in no folder")?.to_owned(),
            nvcc,
        })
    }

    /// Makes the inputs of the link in the folder, in the order of the units.
    pub(crate) fn inputs(
        &self,
        program: &Program,
        folder: &Path,
    ) -> Result<Result<Vec<String>, Rejected>> {
        let mut inputs: Vec<String> = Vec::new();
        let mut library: Option<String> = None;
        for unit in &program.units {
            let file = match self.unit(unit, folder)? {
                // It may not know the processor or the instructions.
                Err(_) if unit.build.assembler > 0 => {
                    let mut newer = unit.clone();
                    newer.build.assembler = 0;
                    self.unit(&newer, folder)?
                }
                result => result,
            };
            let file = match file {
                Ok(file) => file,
                Err(rejected) => return Ok(Err(rejected)),
            };
            if !unit.build.archived {
                library = None;
                inputs.push(file);
                continue;
            }
            let archive = library.get_or_insert_with(|| {
                let archive = format!("lib{}.a", unit.name);
                inputs.push(archive.clone());
                archive
            });
            let arguments = ["rcD", archive, &file].map(str::to_owned);
            process::run_ok(Path::new("ar"), &arguments, folder)?;
        }
        Ok(Ok(inputs))
    }

    /// The text of a unit in the version of its assembler.
    fn source(&self, unit: &Unit) -> String {
        let source = unit.source();
        match self.assembler(unit) {
            Some(older) => source.replace(VERSION, &format!(".version {}\n", older.version)),
            None => source,
        }
    }

    fn assembler(&self, unit: &Unit) -> Option<&Older> {
        let count = self.older.len();
        match unit.build.assembler {
            0 => None,
            // Which ones there are is not the program's to know.
            number => self.older.get((number - 1) % count.max(1)),
        }
    }

    /// Compiles a unit and packs it; returns its file.
    fn unit(&self, unit: &Unit, folder: &Path) -> Result<Result<String, Rejected>> {
        fs::write(folder.join(unit.file()), self.source(unit))
            .with_context(|| format!("cannot write {}", unit.file()))?;
        let output = |extension: &str| format!("{}.{extension}", unit.name);
        let (file, ended) = match (&unit.build.carrier, unit.language) {
            (Carrier::Source, _) => return Ok(Ok(unit.file())),
            (Carrier::Object | Carrier::Intermediate, Language::Ptx) => {
                let file = output("cubin");
                let ended = self.assemble(unit, &unit.target, &file, folder)?;
                (file, ended)
            }
            (Carrier::Fatbin(images), Language::Ptx) => {
                let file = output("fatbin");
                let create = format!("--create={file}");
                match self.pack(unit, images, &create, folder)? {
                    Ok(ended) => (file, ended),
                    Err(rejected) => return Ok(Err(rejected)),
                }
            }
            (Carrier::HostObject(images), Language::Ptx) => {
                let (file, source) = (output("o"), output("fatbin.c"));
                let embed = format!("--embedded-fatbin={source}");
                match self.pack(unit, images, &embed, folder)? {
                    Ok(ended) if ended.exit == Exit::Code(0) => {}
                    Ok(ended) => return Ok(Err(said(&ended))),
                    Err(rejected) => return Ok(Err(rejected)),
                }
                let include = format!("-I{}", self.root.join("include").display());
                let arguments = ["-c", "-w", &include, &source, "-o", &file].map(str::to_owned);
                let ended = process::run(&toolkit::host_compiler(), &arguments, folder, LIMIT)?;
                (file, ended)
            }
            (carrier, Language::Cuda) => {
                let (kind, extension, more) = match carrier {
                    Carrier::Source => bail!("linkers do not take CUDA C++"),
                    Carrier::Object => ("-cubin", "cubin", Vec::new()),
                    Carrier::Intermediate => ("-c", "o", vec!["-dlto".to_owned()]),
                    Carrier::Fatbin(images) => ("-fatbin", "fatbin", codes(unit, images)),
                    Carrier::HostObject(images) => ("-c", "o", codes(unit, images)),
                };
                let file = output(extension);
                (file.clone(), self.nvcc(unit, kind, &more, &file, folder)?)
            }
        };
        Ok(match ended.exit {
            Exit::Code(0) => Ok(file),
            _ => Err(said(&ended)),
        })
    }

    fn assemble(&self, unit: &Unit, target: &Target, output: &str, folder: &Path) -> Result<Ended> {
        let mut arguments = vec![format!("-arch={target}")];
        arguments.push(if unit.build.whole { "-ewp" } else { "-c" }.to_owned());
        arguments.extend(unit.arguments().map(str::to_owned));
        arguments.extend([unit.file(), "-o".to_owned(), output.to_owned()]);
        let ptxas = self
            .assembler(unit)
            .map_or(&self.ptxas, |older| &older.ptxas);
        process::run(ptxas, &arguments, folder, LIMIT)
    }

    fn nvcc(
        &self,
        unit: &Unit,
        kind: &str,
        more: &[String],
        output: &str,
        folder: &Path,
    ) -> Result<Ended> {
        let mut arguments = vec!["-rdc=true".to_owned(), kind.to_owned()];
        if !more.iter().any(|argument| argument.starts_with("-gencode")) {
            arguments.push(format!("-arch={}", unit.target));
        }
        arguments.extend_from_slice(more);
        arguments.extend(unit.arguments().map(str::to_owned));
        arguments.extend([unit.file(), "-o".to_owned(), output.to_owned()]);
        process::run(&self.nvcc, &arguments, folder, LIMIT)
    }

    /// Puts images of a unit into a container. What other processors do not take is left out.
    fn pack(
        &self,
        unit: &Unit,
        images: &Images,
        output: &str,
        folder: &Path,
    ) -> Result<Result<Ended, Rejected>> {
        let mut arguments = vec!["-64".to_owned(), output.to_owned()];
        arguments.push(format!("--compress-mode={}", images.compression));
        arguments.extend(images.all.then(|| "--compress-all".to_owned()));
        if !unit.build.whole {
            arguments.push("--device-c".to_owned());
        }
        let image = |kind: &str, target: &Target, file: &str| {
            let number = target.to_string();
            let number = number.trim_start_matches("sm_");
            format!("--image3=kind={kind},sm={number},file={file}")
        };
        let native = images.native.then_some(&unit.target);
        for target in images.others.iter().chain(native) {
            let file = format!("{}.{target}.cubin", unit.name);
            // The text names the processor that it is for at least.
            let ended = self.assemble(unit, target, &file, folder)?;
            match ended.exit {
                Exit::Code(0) => arguments.push(image("elf", target, &file)),
                _ if *target == unit.target => return Ok(Err(said(&ended))),
                _ => {}
            }
        }
        if images.ptx {
            arguments.push(image("ptx", &unit.target, &unit.file()));
        }
        Ok(Ok(process::run(
            &self.fatbinary,
            &arguments,
            folder,
            LIMIT,
        )?))
    }
}

/// What nvcc is told of the images of a container.
fn codes(unit: &Unit, images: &Images) -> Vec<String> {
    let code = |target: &Target, ptx: bool| {
        let name = target.to_string();
        let number = name.trim_start_matches("sm_");
        let code = if ptx { "compute" } else { "sm" };
        format!("-gencode=arch=compute_{number},code={code}_{number}")
    };
    let mut others = images.others.clone();
    others.retain(|other| *other != unit.target);
    others.dedup();
    let mut arguments: Vec<String> = others.iter().map(|other| code(other, false)).collect();
    arguments.extend(images.native.then(|| code(&unit.target, false)));
    arguments.extend(images.ptx.then(|| code(&unit.target, true)));
    arguments.push(format!("-compress-mode={}", images.compression));
    arguments.extend(images.all.then(|| "-Xfatbin=-compress-all".to_owned()));
    arguments
}

fn said(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}
