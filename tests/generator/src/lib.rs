//! Random programs of several units, and what nvlink and our linker make of them.
//!
//! The same seed gives the same program. A program is a list of parts that can be left out one by
//! one, so that a failing program shrinks to a small one.
#![forbid(unsafe_code)]

mod build;
pub mod check;
mod compile;
mod cuda;
mod feature;
mod kernel;
pub mod known;
mod large;
mod library;
mod loops;
mod modern;
mod on;
mod plan;
mod program;
mod ptx;
pub mod score;
pub mod shrink;
mod steps;
mod target;
mod tuning;
mod twins;
mod unified;
mod waits;

use std::collections::BTreeSet;

pub use build::Build;
pub use feature::Feature;
pub use program::{Item, Language, Piece, Program, Unit};
pub use target::Target;

use rustnvlink_tests::random::Random;

/// Makes the program of a seed.
pub fn generate(
    seed: u64,
    target: &Target,
    language: Language,
    allowed: &BTreeSet<Feature>,
) -> Program {
    let mut random = Random::new(seed);
    let mut features = Feature::choose(seed, &mut random, allowed);
    if allowed.contains(&Feature::Library) && library::is_used(seed) {
        features.insert(Feature::Library);
    }
    let mut program = match language {
        Language::Ptx if kernel::is_alone(allowed) => Program {
            target: target.clone(),
            units: Vec::new(),
            index: Vec::new(),
            steps: None,
        },
        Language::Ptx => ptx::program(seed, &mut random, target, features),
        Language::Cuda if loops::is_alone(allowed) => Program {
            target: target.clone(),
            units: vec![loops::unit(seed, target)],
            index: Vec::new(),
            steps: None,
        },
        Language::Cuda => cuda::program(&mut random, target, &features),
    };
    let has_kernel = language == Language::Ptx && allowed.contains(&Feature::Kernel);
    if has_kernel && (program.units.is_empty() || kernel::is_used(seed)) {
        program.units.push(kernel::unit(seed, target, allowed));
    }
    if allowed.contains(&Feature::Tuning) {
        tuning::add(seed, &mut program);
    }
    build::add(seed, &mut program, allowed);
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(seed: u64, language: Language) -> Program {
        let target = "90".parse().unwrap();
        let all = Feature::ALL.iter().copied().collect();
        generate(seed, &target, language, &all)
    }

    #[test]
    fn the_same_seed_gives_the_same_program() {
        for language in Language::ALL {
            for seed in 0..50 {
                assert_eq!(program(seed, language), program(seed, language));
            }
            assert_ne!(program(1, language), program(2, language));
        }
    }

    #[test]
    fn all_statements_and_variables_occur() {
        let seen: BTreeSet<Feature> = (0..400)
            .flat_map(|seed| Language::ALL.map(|language| program(seed, language)))
            .flat_map(|program| program.features())
            .collect();
        // These are choices of symbols and not statements, need an architecture with a suffix, or come alone.
        let elsewhere = [
            Feature::Shadow,
            Feature::Parameters,
            Feature::Unused,
            Feature::Undefined,
            Feature::Duplicate,
            Feature::Tensor,
            Feature::Mixed,
            Feature::Loops,
        ];
        for feature in Feature::ALL {
            assert!(
                seen.contains(feature) || elsewhere.contains(feature),
                "{feature}"
            );
        }
    }

    #[test]
    fn few_features_stay_few() {
        let target = "90".parse().unwrap();
        let allowed = BTreeSet::from([Feature::Call, Feature::Base]);
        for seed in 0..50 {
            let features = generate(seed, &target, Language::Ptx, &allowed).features();
            assert!(features.is_subset(&allowed), "{features:?}");
        }
    }
}
