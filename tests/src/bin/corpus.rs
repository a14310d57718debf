//! Writes every input and output of all cases into one folder, for tools that read such files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};
use clap::Parser;
use rustnvlink_tests::arch::Arch;
use rustnvlink_tests::case;
use rustnvlink_tests::run::{self, Linked};
use rustnvlink_tests::store::Store;
use rustnvlink_tests::toolkit::Toolkit;

/// Writes what all cases compile and link to, as `<case>.<arch>.<file>`, and for each link a log with
/// its command line and messages
#[derive(Parser)]
struct Arguments {
    /// Folder to write to
    folder: PathBuf,
    /// Only this architecture, as a number; can be given several times
    #[arg(long = "arch", value_name = "NUMBER")]
    archs: Vec<u32>,
    /// Only cases whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let toolkit = Toolkit::find()?;
    let store = Store::open()?;
    fs::create_dir_all(&arguments.folder)?;
    let cases = case::all()?;
    let jobs: Vec<_> = cases
        .iter()
        .filter(|case| case.name.contains(&arguments.only))
        .flat_map(|case| {
            case.scripts
                .iter()
                .map(move |(arch, script)| (case, *arch, script))
        })
        .filter(|(_, Arch(number), _)| {
            arguments.archs.is_empty() || arguments.archs.contains(number)
        })
        .collect();
    let (next, written) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> Result<()> {
        while let Some((case, arch, script)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ran = run::run(case, *arch, script, &toolkit, &store)?;
            let place = |name: &str| {
                arguments
                    .folder
                    .join(format!("{}.{arch}.{name}", case.name))
            };
            for (name, file) in &ran.files {
                copy(&file.path, &place(name))?;
            }
            for linked in &ran.links {
                fs::write(place(&format!("{}.log", linked.link.name)), log(linked))?;
            }
            written.fetch_add(ran.files.len(), Ordering::Relaxed);
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker
                .join()
                .expect("a worker panics only by a defect of this program")?;
        }
        Ok(())
    })?;
    println!(
        "{} files in {}",
        written.into_inner(),
        arguments.folder.display()
    );
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(())
}

fn log(linked: &Linked) -> String {
    let ended = &linked.entry.ended;
    let command = linked.arguments.join(" ");
    format!(
        "nvlink {command}\n{}\n{}{}",
        ended.exit, ended.stdout, ended.stderr
    )
}
