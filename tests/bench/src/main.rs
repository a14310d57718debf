//! Times our linker and nvlink on shapes of programs, and shows that both write the same bytes.
//!
//! The inputs come from NVIDIA's assembler and are kept in the user's cache folder. Every link of
//! a shape happens in the same run, under limits on time and memory: nvlink needs hours for some
//! programs of ordinary size.
#![forbid(unsafe_code)]

mod inputs;
mod measure;
mod ptx;
mod report;
mod shapes;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use cudalink_toolkit::Tool;
use rustnvlink_tests::identity;
use rustnvlink_tests::toolkit::Toolkit;

use inputs::Inputs;
use measure::{Ended, Limits, Measured};
use report::{Format, Identity, Row};
use shapes::Shape;

#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Only shapes whose name contains one of these.
    filters: Vec<String>,
    /// The architecture to make inputs for.
    #[arg(long, default_value = "sm_90")]
    arch: String,
    /// Links of which the fastest counts; slow ones are done once.
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Seconds after which a linker is stopped.
    #[arg(long, default_value_t = 60)]
    time_limit: u64,
    /// Gigabytes of memory a linker may have.
    #[arg(long, default_value_t = 8)]
    memory_limit: usize,
    /// The linker to time; else ours, built for the purpose.
    #[arg(long)]
    linker: Option<PathBuf>,
    /// How the table is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Names the shapes and ends.
    #[arg(long)]
    list: bool,
}

fn main() -> Result<ExitCode> {
    // Each link has a process of its own above it, whose only child it is.
    let mut words = std::env::args_os().skip(1);
    if words.next().as_deref() == Some(measure::COMMAND.as_ref()) {
        measure::command(words)?;
        return Ok(ExitCode::SUCCESS);
    }
    let arguments = Arguments::parse();
    let shapes: Vec<Shape> = shapes::all()
        .into_iter()
        .filter(|shape| shape.is_named(&arguments.filters))
        .collect();
    ensure!(!shapes.is_empty(), "no shape has such a name; see --list");
    if arguments.list {
        for shape in shapes {
            println!("{}", shape.name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let toolkit = Toolkit::find()?;
    let bench = Bench {
        nvlink: toolkit.tool(Tool::Nvlink)?,
        linker: match &arguments.linker {
            Some(path) => path
                .canonicalize()
                .with_context(|| format!("no linker {}", path.display()))?,
            None => build_linker()?,
        },
        inputs: Inputs::open(&toolkit, &arguments.arch)?,
        limits: Limits {
            time: Duration::from_secs(arguments.time_limit),
            memory: arguments.memory_limit << 30,
        },
        runs: arguments.runs,
        arch: arguments.arch,
    };
    let mut rows = Vec::new();
    for shape in &shapes {
        eprintln!("{}", shape.name);
        rows.push(
            bench
                .measure(shape)
                .with_context(|| format!("shape '{}'", shape.name))?,
        );
    }
    print!("{}", report::table(&rows, arguments.format));
    let differ = rows.iter().any(|row| row.identity == Identity::Differ);
    Ok(match differ {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// Both linkers and what they get.
struct Bench {
    nvlink: PathBuf,
    linker: PathBuf,
    inputs: Inputs,
    limits: Limits,
    runs: u32,
    arch: String,
}

impl Bench {
    fn measure(&self, shape: &Shape) -> Result<Row> {
        let objects = self.inputs.of(shape)?;
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let [theirs, ours, record] =
            ["nvlink.cubin", "ours.cubin", "record"].map(|name| folder.path().join(name));
        let nvlink = self.best(&self.nvlink, &[], &objects, &theirs)?;
        let mut more: Vec<OsString> = vec!["--compat".into()];
        if nvlink.ended == Ended::Code(0) {
            let image =
                fs::read(&theirs).with_context(|| format!("cannot read {}", theirs.display()))?;
            let bytes = identity::tool_record(&image)?
                .with_context(|| format!("{} has no tool record", theirs.display()))?;
            fs::write(&record, bytes)
                .with_context(|| format!("cannot write {}", record.display()))?;
            more.extend(["--tool-record".into(), record.into_os_string()]);
        }
        let linker = self.best(&self.linker, &more, &objects, &ours)?;
        ensure!(
            linker.ended == Ended::Code(0),
            "our linker ended with {}: {}",
            linker.ended,
            linker.text
        );
        let identity = match nvlink.ended {
            Ended::Code(0) if same_bytes(&theirs, &ours)? => Identity::Same,
            Ended::Code(0) => Identity::Differ,
            Ended::TimedOut | Ended::Signal(_) => Identity::Unknown,
            Ended::Code(_) => bail!("nvlink ended with {}: {}", nvlink.ended, nvlink.text),
        };
        Ok(Row {
            shape: shape.name.clone(),
            size: objects.size,
            nvlink,
            ours: linker,
            identity,
            limit: self.limits.time,
        })
    }

    /// The fastest of several links; one that takes long is not repeated often.
    fn best(
        &self,
        linker: &Path,
        more: &[OsString],
        objects: &inputs::Objects,
        output: &Path,
    ) -> Result<Measured> {
        const ENOUGH: f64 = 10.0;
        let mut arguments = vec![OsString::from(format!("-arch={}", self.arch))];
        arguments.extend_from_slice(more);
        arguments.extend(["-o".into(), output.as_os_str().to_owned()]);
        arguments.extend(objects.names.iter().map(OsString::from));
        let link = || measure::run(linker, &arguments, &objects.folder, self.limits);
        let mut best = link()?;
        let mut spent = best.seconds;
        for _ in 1..self.runs {
            if best.ended != Ended::Code(0) || spent > ENOUGH {
                break;
            }
            let next = link()?;
            spent += next.seconds;
            if next.seconds < best.seconds {
                best = next;
            }
        }
        Ok(best)
    }
}

fn same_bytes(one: &Path, other: &Path) -> Result<bool> {
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    Ok(read(one)? == read(other)?)
}

/// Builds our linker as it is released.
fn build_linker() -> Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--package", "rustnvlink"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the linker does not build");
    // This program is `<target folder>/<profile>/rustnvlink-bench`.
    let own = std::env::current_exe()?;
    let target = own
        .ancestors()
        .nth(2)
        .context("this program lies in no build folder")?;
    let linker = target.join("release").join("rustnvlink");
    ensure!(linker.is_file(), "cargo left no {}", linker.display());
    Ok(linker)
}
