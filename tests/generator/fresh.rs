//! Runs programs that nobody has run before: the seeds come from the sources that are committed, so
//! that a failure is seen again until they change, and every failure says its own.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use rustnvlink_generator::check::{Outcome, Tools};
use rustnvlink_generator::known::Known;
use rustnvlink_generator::score::first_lines;
use rustnvlink_generator::{Feature, Language, Target, generate};
use rustnvlink_tests::toolkit::Toolkit;
use rustnvlink_tests::{checks, identity};

/// Fixes the first seed.
const SEED: &str = "RUSTNVLINK_TEST_SEED";

const ARCHS: [&str; 5] = ["75", "80", "90", "100", "120"];

/// What is not all known of these, docs/identity.md says under "What differs".
const NOT_ALL_KNOWN: [Feature; 2] = [Feature::Unified, Feature::Whole];

/// Programs for each architecture.
const PTX_PROGRAMS: u64 = 12;

/// Small kernels of random instructions for each architecture.
const KERNELS: u64 = 40;

/// One program in CUDA takes as long as dozens in PTX.
const CUDA_PROGRAMS: u64 = 1;

/// Units of kernels with loops, in CUDA, for each architecture.
const LOOPS: u64 = 2;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let toolkit = Toolkit::find();
    let is_skipped = toolkit.is_err();
    let skip = toolkit.as_ref().err().map(|error| format!("{error:#}"));
    let toolkit = Arc::new(toolkit.ok());
    let known = Arc::new(Known::read()?);
    let tools: Arc<OnceLock<Result<Tools, String>>> = Arc::default();
    let base = base()?;
    if !arguments.list && !is_skipped {
        eprintln!("seeds from {base} on; set {SEED}={base} to run the same again");
    }
    let all: BTreeSet<Feature> = Feature::ALL
        .iter()
        .copied()
        .filter(|feature| !NOT_ALL_KNOWN.contains(feature))
        .collect();
    let [kernels, loops] = [Feature::Kernel, Feature::Loops].map(|only| BTreeSet::from([only]));
    let mut trials = Vec::new();
    for (name, language, allowed, count) in [
        ("ptx", Language::Ptx, &all, PTX_PROGRAMS),
        ("kernels", Language::Ptx, &kernels, KERNELS),
        ("loops", Language::Cuda, &loops, LOOPS),
        ("cu", Language::Cuda, &all, CUDA_PROGRAMS),
    ] {
        for arch in ARCHS {
            let (toolkit, tools, known) = (toolkit.clone(), tools.clone(), known.clone());
            let allowed = allowed.clone();
            let name = format!("fresh/{name}/sm_{arch}");
            let test = move || {
                let make = || -> Result<Tools> {
                    let toolkit = toolkit.as_ref().as_ref().context("no toolkit")?;
                    Tools::new(toolkit, &[], identity::linker()?, Vec::new())
                };
                let tools = tools.get_or_init(|| make().map_err(|error| format!("{error:#}")));
                let tools = tools.as_ref().map_err(Failed::from)?;
                for seed in base..base + count {
                    check(tools, &known, seed, arch, language, &allowed)?;
                }
                Ok(())
            };
            trials.push(Trial::test(name, test).with_ignored_flag(is_skipped));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(reason) = skip.filter(|_| conclusion.num_ignored > 0) {
        eprintln!("skipped {} trials: {reason}", conclusion.num_ignored);
        if checks::skips_fail() {
            eprintln!("a skip is a failure where CI is set");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(conclusion.exit_code())
}

/// How many seeds lie between those of two trees, more than one run takes.
const APART: u64 = 100;

/// The first seed: other sources have others, where `git` knows which they are.
fn base() -> Result<u64> {
    match std::env::var(SEED) {
        Ok(seed) => seed
            .parse()
            .with_context(|| format!("{SEED}={seed} is not a number")),
        Err(_) => Ok(tree().unwrap_or_default() * APART),
    }
}

/// The first digits of the name that git gives the committed sources.
fn tree() -> Option<u64> {
    let shown = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD^{tree}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()?;
    let name = str::from_utf8(&shown.stdout).ok()?.trim();
    u64::from_str_radix(name.get(..12)?, 16).ok()
}

fn check(
    tools: &Tools,
    known: &Known,
    seed: u64,
    arch: &str,
    language: Language,
    allowed: &BTreeSet<Feature>,
) -> Result<(), Failed> {
    let target: Target = arch.parse()?;
    let program = generate(seed, &target, language, allowed);
    let outcome = tools
        .check(&program)
        .map_err(|error| Failed::from(format!("seed {seed}: {error:#}")))?;
    let differences = match outcome {
        Outcome::Different(differences) => differences,
        // Nothing to compare with: the text says so where tests show what they print.
        Outcome::Irreproducible(differences) => {
            let own = first_lines(&differences, 2);
            println!("seed {seed}: nvlink does not reproduce itself:\n{own}");
            return Ok(());
        }
        Outcome::Rejected(_) | Outcome::Refused | Outcome::Same(_) => return Ok(()),
    };
    if known.reasons(&target, &differences).is_some() {
        return Ok(());
    }
    let only = match allowed.first() {
        Some(only) if allowed.len() == 1 => format!(" --features {only}"),
        _ => String::new(),
    };
    Err(Failed::from(format!(
        "seed {seed} differs:\n{}to see the smallest program that does, run\n    cargo run -p rustnvlink-generator -- --language {} --archs {arch} --seeds {seed} --shrink{only}",
        first_lines(&differences, 6),
        language.extension()
    )))
}
