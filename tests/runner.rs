//! Makes one trial of each case and architecture, and one of each link that our linker repeats.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use rustnvlink_tests::arch::Arch;
use rustnvlink_tests::case::{self, Case};
use rustnvlink_tests::directive::{Action, Script};
use rustnvlink_tests::identity::Difference;
use rustnvlink_tests::known::Known;
use rustnvlink_tests::run::{self, Ran};
use rustnvlink_tests::store::{Files, Store};
use rustnvlink_tests::toolkit::Toolkit;
use rustnvlink_tests::{checks, expect, golden, identity, roundtrip};

/// Names a folder for the files of identity trials that fail.
const KEEP: &str = "RUSTNVLINK_TEST_KEEP";

/// What all trials share.
struct Suite {
    cases: Vec<Case>,
    known: Known,
    store: Store,
    toolkit: Option<Toolkit>,
    /// Built when the first trial asks for it.
    linker: OnceLock<Result<PathBuf, String>>,
}

/// One case on one architecture. Its trials share one run of NVIDIA's tools.
struct Subject {
    suite: Arc<Suite>,
    case: usize,
    script: usize,
    ran: OnceLock<Result<Ran, String>>,
}

fn main() -> ExitCode {
    match trials() {
        Ok((arguments, trials, skip)) => {
            let conclusion = libtest_mimic::run(&arguments, trials);
            let Some(reason) = skip.filter(|_| conclusion.num_ignored > 0) else {
                return conclusion.exit_code();
            };
            eprintln!("skipped {} trials: {reason}", conclusion.num_ignored);
            if checks::skips_fail() {
                eprintln!("a skip is a failure where CI is set");
                return ExitCode::FAILURE;
            }
            conclusion.exit_code()
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// All trials, and why those that need a toolkit are skipped, if they are.
fn trials() -> Result<(Arguments, Vec<Trial>, Option<String>)> {
    let arguments = Arguments::from_args();
    let (toolkit, skip) = match Toolkit::find() {
        Ok(toolkit) => (Some(toolkit), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let suite = Arc::new(Suite {
        cases: case::all()?,
        known: Known::read()?,
        store: Store::open()?,
        toolkit,
        linker: OnceLock::new(),
    });
    // These come first and run NVIDIA's tools, each for a case of its own: no thread waits for another one.
    let mut oracles = Vec::new();
    let mut trials = Vec::new();
    for (case_index, case) in suite.cases.iter().enumerate() {
        for (script_index, (arch, script)) in case.scripts.iter().enumerate() {
            let subject = Arc::new(Subject {
                suite: suite.clone(),
                case: case_index,
                script: script_index,
                ran: OnceLock::new(),
            });
            let oracle = subject.clone();
            oracles.push(Trial::test(
                format!("oracle/{}/{arch}", case.name),
                move || oracle.oracle(),
            ));
            let whole = subject.clone();
            trials.push(Trial::test(
                format!("roundtrip/{}/{arch}", case.name),
                move || whole.roundtrip(),
            ));
            for link in links(script) {
                let (subject, link) = (subject.clone(), link.to_owned());
                let name = format!("identity/{}/{arch}/{link}", case.name);
                trials.push(Trial::test(name, move || subject.identity(&link)));
            }
        }
    }
    let mut trials: Vec<Trial> = oracles
        .into_iter()
        .chain(trials)
        .map(|trial| trial.with_ignored_flag(skip.is_some()))
        .collect();
    let shared = suite.clone();
    trials.push(Trial::test("known-differences", move || {
        verdict(shared.known.strays(&shared.cases))
    }));
    Ok((arguments, trials, skip))
}

fn links(script: &Script) -> impl Iterator<Item = &str> {
    script.steps.iter().filter_map(|step| match &step.action {
        Action::Link(link) => Some(link.name.as_str()),
        _ => None,
    })
}

fn verdict(wrong: Vec<String>) -> Result<(), Failed> {
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n").into())
    }
}

impl Subject {
    fn case(&self) -> &Case {
        &self.suite.cases[self.case]
    }

    fn script(&self) -> &(Arch, Script) {
        &self.case().scripts[self.script]
    }

    fn ran(&self) -> Result<&Ran, Failed> {
        let run = || {
            let toolkit = self.suite.toolkit.as_ref().context("there is no toolkit")?;
            let (arch, script) = self.script();
            run::run(self.case(), *arch, script, toolkit, &self.suite.store)
        };
        let ran = self
            .ran
            .get_or_init(|| run().map_err(|error| format!("{error:#}")));
        ran.as_ref().map_err(Failed::from)
    }

    /// Device objects stay the same.
    fn roundtrip(&self) -> Result<(), Failed> {
        let files = &self.ran()?.files;
        verdict(roundtrip::check(files, &self.script().1).map_err(failed)?)
    }

    /// nvlink does what the case expects.
    fn oracle(&self) -> Result<(), Failed> {
        let ran = self.ran()?;
        let mut wrong = Vec::new();
        let mut files = Files::new();
        for linked in &ran.links {
            files.extend(linked.inputs.clone());
            let lines = expect::check(&linked.link, &linked.entry, &files).map_err(failed)?;
            wrong.extend(
                lines
                    .into_iter()
                    .map(|line| format!("{}: {line}", linked.link.name)),
            );
            files.extend(linked.entry.files.clone());
        }
        if let Some(name) = &self.script().1.golden {
            wrong.extend(golden::check(self.case(), name, &ran.links).map_err(failed)?);
        }
        verdict(wrong)
    }

    /// Our linker does what nvlink does.
    fn identity(&self, link: &str) -> Result<(), Failed> {
        let linked = self
            .ran()?
            .links
            .iter()
            .find(|linked| linked.link.name == link)
            .expect("each trial is made from a link of the script");
        let linker = self
            .suite
            .linker
            .get_or_init(|| identity::linker().map_err(|error| format!("{error:#}")))
            .as_ref()
            .map_err(Failed::from)?;
        let compared = identity::compare(linker, linked, &self.suite.store).map_err(failed)?;
        let (case, arch) = (&self.case().name, self.script().0);
        let accepted = self.suite.known.of(case, arch, link);
        let wrong = unexplained(&compared.differences, &accepted);
        if let (false, Some(folder)) = (wrong.is_empty(), std::env::var_os(KEEP)) {
            let folder = PathBuf::from(folder).join(format!("{case}.{arch}.{link}"));
            compared.keep(linked, &folder).map_err(failed)?;
        }
        verdict(wrong)
    }
}

/// Stands for every difference of a link.
const ANY: &str = "*";

/// Differences nobody accepted, and accepted ones that are gone.
fn unexplained(differences: &[Difference], accepted: &BTreeMap<&str, &str>) -> Vec<String> {
    if accepted.contains_key(ANY) && !differences.is_empty() {
        return Vec::new();
    }
    let new = differences
        .iter()
        .filter(|difference| !accepted.contains_key(difference.key.as_str()))
        .map(|difference| difference.text.clone());
    let gone = accepted
        .keys()
        .filter(|key| !differences.iter().any(|difference| difference.key == **key))
        .map(|key| format!("{key}: no longer differs; delete its line of known-differences.txt"));
    new.chain(gone).collect()
}

fn failed(error: anyhow::Error) -> Failed {
    format!("{error:#}").into()
}
