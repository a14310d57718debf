//! Runs random programs through nvlink and our linker.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use clap::Parser;
use rustnvlink_generator::check::{Outcome, Tools};
use rustnvlink_generator::known::Known;
use rustnvlink_generator::score::{Score, first_lines};
use rustnvlink_generator::{Build, Feature, Language, Program, Target, generate, shrink};
use rustnvlink_tests::identity;
use rustnvlink_tests::random::seeds;
use rustnvlink_tests::toolkit::Toolkit;

/// Random programs that show where our linker and nvlink differ.
#[derive(Debug, Parser)]
struct Arguments {
    /// The seeds of the programs: `7` or `100..200`.
    #[arg(long, default_value = "0..100")]
    seeds: String,
    /// The architectures.
    #[arg(long, value_delimiter = ',', default_value = "75,80,90,100,120")]
    archs: Vec<Target>,
    /// Compiles for this processor what those of `--archs` get: `100` with `--archs 103`, say.
    #[arg(long, value_name = "ARCH")]
    code: Option<Target>,
    /// The language of the programs: `ptx`, or `cu` for CUDA C++, which takes its time.
    #[arg(long, default_value = "ptx")]
    language: Language,
    /// Only these features, where all are used otherwise.
    #[arg(long, value_delimiter = ',')]
    features: Vec<Feature>,
    /// All features but these.
    #[arg(long, value_delimiter = ',')]
    without: Vec<Feature>,
    /// Leaves the files of programs that differ in folders of this one.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Leaves out parts of programs that differ while they still do.
    #[arg(long)]
    shrink: bool,
    /// The class of differences that is to stay.
    #[arg(long, requires = "shrink")]
    class: Option<String>,
    /// Prints the programs and runs nothing.
    #[arg(long)]
    print: bool,
    /// Says why compilers reject programs, and shows known differences too.
    #[arg(long)]
    verbose: bool,
    /// An option for both linkers, such as `--link-option=-r`; can be given several times.
    #[arg(
        long = "link-option",
        value_name = "OPTION",
        allow_hyphen_values = true
    )]
    link_options: Vec<String>,
    /// Links in random steps, of which all but the last use `-r`, and with random options.
    #[arg(long)]
    steps: bool,
    /// Assemblers of older toolkits, which make some of the units.
    #[arg(long, value_name = "PTXAS", value_delimiter = ',')]
    older: Vec<PathBuf>,
    /// The linker to test; otherwise ours is built.
    #[arg(long)]
    linker: Option<PathBuf>,
    /// How many programs run at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let allowed: BTreeSet<Feature> = Feature::ALL
        .iter()
        .copied()
        .filter(|feature| arguments.features.is_empty() || arguments.features.contains(feature))
        .filter(|feature| !arguments.without.contains(feature))
        .collect();
    let work: Vec<(u64, &Target)> = seeds(&arguments.seeds)?
        .flat_map(|seed| arguments.archs.iter().map(move |target| (seed, target)))
        .collect();
    if arguments.print {
        for (seed, target) in &work {
            print(&make(arguments, *seed, target, &allowed));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let linker = match &arguments.linker {
        Some(linker) => linker.clone(),
        None => identity::linker()?,
    };
    let tools = Tools::new(
        &Toolkit::find()?,
        &arguments.older,
        linker,
        arguments.link_options.clone(),
    )?;
    let known = Known::read()?;
    let next = AtomicUsize::new(0);
    let score = Mutex::new(Score::default());
    let worker = || -> Result<()> {
        while let Some((seed, target)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let program = make(arguments, *seed, target, &allowed);
            let outcome = tools.check(&program)?;
            score
                .lock()
                .expect("no worker panics")
                .add(*seed, &program, &outcome, &known);
            let is_known = matches!(&outcome, Outcome::Different(differences)
                if known.reasons(target, differences).is_some());
            if is_known && !arguments.verbose && !arguments.shrink {
                continue;
            }
            report(arguments, &tools, *seed, &program, &outcome)
                .with_context(|| format!("seed {seed}, {target}"))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.jobs.max(1))
            .map(|_| scope.spawn(worker))
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let score = score.into_inner().expect("no worker panics");
    println!("{score}");
    Ok(match score.is_perfect() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The program of a seed, for a processor or for one whose code it takes.
fn make(arguments: &Arguments, seed: u64, target: &Target, allowed: &BTreeSet<Feature>) -> Program {
    let code = arguments.code.as_ref().unwrap_or(target);
    let mut program = generate(seed, code, arguments.language, allowed);
    program.target = target.clone();
    program.steps = arguments.steps.then_some(seed);
    program
}

fn report(
    arguments: &Arguments,
    tools: &Tools,
    seed: u64,
    program: &Program,
    outcome: &Outcome,
) -> Result<()> {
    let target = &program.target;
    let (what, differences) = match outcome {
        Outcome::Different(differences) => ("differs", differences),
        Outcome::Irreproducible(differences) => ("nvlink does not reproduce itself", differences),
        Outcome::Rejected(text) if arguments.verbose => {
            println!("seed {seed} {target} does not compile:\n{text}");
            return Ok(());
        }
        Outcome::Rejected(_) | Outcome::Refused | Outcome::Same(_) => return Ok(()),
    };
    println!(
        "seed {seed} {target}: {what}:\n{}",
        first_lines(differences, 4).trim_end()
    );
    let mut program = program.clone();
    if arguments.shrink && matches!(outcome, Outcome::Different(_)) {
        program = shrink::shrink(tools, &program, arguments.class.as_deref())?;
        print(&program);
    }
    if let Some(keep) = &arguments.keep {
        let folder = keep.join(format!("{seed}-{target}"));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let outcome = tools.check_in(&program, &folder)?;
        if let Outcome::Different(differences) | Outcome::Irreproducible(differences) = outcome {
            let text = first_lines(&differences, 100);
            fs::write(folder.join("differences.txt"), text)?;
        }
    }
    Ok(())
}

fn print(program: &Program) {
    for unit in &program.units {
        let options: Vec<&str> = unit.arguments().collect();
        println!(
            "// {} {} {}\n{}",
            unit.file(),
            unit.target,
            options.join(" "),
            unit.source()
        );
        if unit.build != Build::default() {
            println!("// {:?}", unit.build);
        }
    }
}
