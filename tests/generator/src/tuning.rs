//! Options that change what compilers make of a unit. They come from a source of their own: what a seed gave before is
//! still the program, and only its options are more.

use crate::feature::Feature;
use crate::program::{Language, Piece, Program};
use rustnvlink_tests::random::Random;

/// How many programs in a hundred get any.
const PROGRAMS: usize = 35;

/// Keeps this source apart from the one of the program.
const SALT: u64 = 0x7475_6e65;

/// Options of ptxas; nvcc takes them behind `-Xptxas`.
const OPTIONS: &[&str] = &[
    "-dlcm=cg",
    "-dlcm=cv",
    "-dscm=wt",
    "-dscm=cs",
    "-flcm=cg",
    "-fscm=cg",
    "-fmad=false",
    "-func-maxrregcount=32",
    "-split-compile=2",
    "-no-bb-merge",
    "-disable-optimizer-consts",
    "-allow-expensive-optimizations=false",
    "-regUsageLevel=2",
    "-regUsageLevel=9",
    "-ret-end",
    "-sp-bounds-check",
    "-make-errors-visible-at-exit",
    "-pic=true",
    "-device-stack-protector=true",
    "-Ofc=min",
    "-Ofc=mid",
    "-Ofc=max",
    "-preserve-relocs",
    "-annotate",
    "-opt-fp-atomics",
    "-maxntid=128",
    "-override-directive-values",
    "-legacy-bar-warp-wide-behavior",
    "-suppress-debug-info",
];

/// Options of nvcc alone.
const OF_NVCC: &[&str] = &[
    "-use_fast_math",
    "-fmad=false",
    "-extra-device-vectorization",
    "-Xptxas=-O1",
    "-Xptxas=-O0",
    "-ftz=true",
    "-prec-div=false",
    "-restrict",
    "-dopt=on",
];

/// Adds options to some units.
pub(crate) fn add(seed: u64, program: &mut Program) {
    let mut random = Random::new(seed ^ SALT);
    if !random.chance(PROGRAMS) {
        return;
    }
    for unit in &mut program.units {
        for _ in 0..random.below(4) {
            let option = match unit.language {
                Language::Ptx => (*random.pick(OPTIONS)).to_owned(),
                Language::Cuda if random.chance(40) => (*random.pick(OF_NVCC)).to_owned(),
                Language::Cuda => format!("-Xptxas={}", random.pick(OPTIONS)),
            };
            let (name, _) = option.rsplit_once('=').unwrap_or((&option, ""));
            // What is given twice is an error, and `-G` and its like stand alone.
            let is_given = unit.options.iter().any(|o| o.text.starts_with(name));
            let is_refused = option == "-dopt=on" && !unit.options.iter().any(|o| o.text == "-G");
            if !is_given && !is_refused {
                unit.options.push(Piece::new(Feature::Tuning, option));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::generate;

    use super::*;

    #[test]
    fn only_options_are_more() {
        let target = "90".parse().unwrap();
        let all: BTreeSet<Feature> = Feature::ALL.iter().copied().collect();
        let without: BTreeSet<Feature> = all
            .iter()
            .copied()
            .filter(|f| *f != Feature::Tuning)
            .collect();
        let mut tuned = 0;
        for seed in 0..50 {
            let plain = generate(seed, &target, Language::Ptx, &without);
            let mut program = generate(seed, &target, Language::Ptx, &all);
            tuned += usize::from(program != plain);
            for unit in &mut program.units {
                unit.options.retain(|o| o.feature != Feature::Tuning);
            }
            assert_eq!(program, plain);
        }
        assert!((5..45).contains(&tuned));
    }
}
