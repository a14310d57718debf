//! The host side of device links: fatbins beside those of `fatbinary`, and programs whose device code our object
//! registers beside the same programs with the object of nvcc.
//!
//! Needs a CUDA toolkit and a host compiler, and uses every host linker there is. What is missing skips the trials that
//! need it, which is a failure where `CI` is set.
#![forbid(unsafe_code)]

mod bindings;
mod doctor;
mod fatbins;
mod large;
mod machines;
mod programs;
mod scripts;
mod world;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use libtest_mimic::{Arguments, Failed, Trial};
use rustnvlink_tests::checks;
use world::World;

/// Why a trial cannot run here, if it cannot.
type Missing = Option<String>;

/// The trials and the reasons of those that are skipped.
struct Suite {
    world: Arc<World>,
    trials: Vec<Trial>,
    skipped: Vec<String>,
}

impl Suite {
    /// Adds a trial, or what it misses.
    fn add(
        &mut self,
        name: impl Into<String>,
        missing: Missing,
        check: impl FnOnce(&World) -> Result<()> + Send + 'static,
    ) {
        let name = name.into();
        let world = self.world.clone();
        if let Some(missing) = &missing {
            self.skipped.push(format!("{name}: {missing}"));
        }
        let trial = Trial::test(name, move || {
            check(&world).map_err(|error| Failed::from(format!("{error:#}")))
        });
        self.trials.push(trial.with_ignored_flag(missing.is_some()));
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let world = match World::new() {
        Ok(world) => Arc::new(world),
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let mut suite = Suite {
        world,
        trials: Vec::new(),
        skipped: Vec::new(),
    };
    fatbins::add(&mut suite);
    programs::add(&mut suite);
    machines::add(&mut suite);
    scripts::add(&mut suite);
    large::add(&mut suite);
    bindings::add(&mut suite);
    doctor::add(&mut suite);
    let Suite {
        trials, skipped, ..
    } = suite;
    let conclusion = libtest_mimic::run(&arguments, trials);
    if conclusion.num_ignored == 0 {
        return conclusion.exit_code();
    }
    for reason in &skipped {
        eprintln!("skipped {reason}");
    }
    if checks::skips_fail() {
        eprintln!("a skip is a failure where CI is set");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}
