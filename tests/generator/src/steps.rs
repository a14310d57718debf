//! Links in steps: what one of them makes, the next one takes.

use crate::program::{Item, Language, Program};
use rustnvlink_tests::random::Random;

/// One link of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// Options for both linkers.
    pub(crate) options: Vec<String>,
    /// Objects, and what earlier steps made.
    pub(crate) inputs: Vec<String>,
    /// What nvlink makes.
    pub(crate) output: String,
}

/// Options of links whose result is linked again, and of all others: one or several words.
const RELOCATABLE: &[&str] = &["-g", "-preserve-relocs", "-g -suppress-debug-info"];
const LAST: &[&str] = &[
    "-g",
    "-preserve-relocs",
    "-g -suppress-debug-info",
    "-use-host-info",
    "-dump-callgraph",
    "-v",
];

/// More of them, from a source of their own, so that the steps of a seed stay what they are.
const FURTHER: &[&str] = &[
    "-ignore-host-info",
    "-extrawarn",
    "-report-arch",
    "-keep-system-libraries",
    "-suppress-stack-size-warning",
    "-suppress-arch-warning",
    "-disable-infos",
    "-w",
    "-Werror",
    "-maxrregcount=40",
    "-dump-callgraph-no-demangle",
];

/// Keeps this source apart from the one of the steps.
const SALT: u64 = 0x7374_6570;

/// The steps of a program with these objects: one, unless there are some and the program is to be linked in several.
pub(crate) fn of(program: &Program, objects: Vec<String>, output: &str) -> Vec<Step> {
    let mut random = match program.steps {
        Some(seed) if !objects.is_empty() => Random::new(seed),
        Some(_) | None => {
            return vec![Step {
                options: Vec::new(),
                inputs: objects,
                output: output.to_owned(),
            }];
        }
    };
    let mut inputs = objects;
    let mut steps = Vec::new();
    for round in 0..random.within(1..=3) {
        let start = random.below(inputs.len());
        let end = random.within(start + 1..=inputs.len());
        let output = format!("step{round}.cubin");
        let mut options = vec!["-r".to_owned()];
        options.extend(some(&mut random, RELOCATABLE));
        steps.push(Step {
            options,
            inputs: inputs.splice(start..end, [output.clone()]).collect(),
            output,
        });
    }
    let mut options = some(&mut random, LAST);
    let kernels = kernels(program);
    if !kernels.is_empty() && random.chance(25) {
        let kernels = run(&mut random, &kernels);
        options.push(format!("-kernels-used={kernels}"));
    }
    steps.push(Step {
        options,
        inputs,
        output: output.to_owned(),
    });
    let mut random = Random::new(program.steps.unwrap_or_default() ^ SALT);
    let variables = variables(program);
    for step in &mut steps {
        if !variables.is_empty() && random.chance(12) {
            let variables = run(&mut random, &variables);
            step.options.push(format!("-variables-used={variables}"));
        }
        for _ in 0..random.below(3) {
            let option = *random.pick(FURTHER);
            if !step.options.iter().any(|other| other == option) {
                step.options.push(option.to_owned());
            }
        }
    }
    steps
}

/// The words of one of the options, or none.
fn some(random: &mut Random, options: &[&str]) -> Vec<String> {
    match random.chance(50) {
        true => {
            let words = random.pick(options).split(' ');
            words.map(str::to_owned).collect()
        }
        false => Vec::new(),
    }
}

/// Some names that follow each other, as options take them.
fn run(random: &mut Random, names: &[&str]) -> String {
    let first = random.below(names.len());
    let end = random.within(first + 1..=names.len());
    names[first..end].join(",")
}

/// The items that PTX names; the compiler mangles those of CUDA.
fn items(program: &Program) -> impl Iterator<Item = &Item> {
    let units = program.units.iter();
    let units = units.filter(|unit| unit.language == Language::Ptx);
    units.flat_map(|unit| &unit.items)
}

/// The variables in global and constant memory, and in shared memory, where none can be chosen.
fn variables(program: &Program) -> Vec<&str> {
    let mut variables: Vec<&str> = items(program)
        .filter(|item| item.tail.is_empty() && item.head.contains(" .align "))
        .filter(|item| !item.head.contains(".func ") && !item.head.contains(".entry "))
        .filter_map(|item| {
            item.head
                .split(['[', ';', '='])
                .next()?
                .split_whitespace()
                .last()
        })
        .collect();
    variables.dedup();
    variables
}

fn kernels(program: &Program) -> Vec<&str> {
    let mut kernels: Vec<&str> = items(program)
        .filter(|item| !item.tail.is_empty())
        .filter_map(|item| item.head.split_once(".entry "))
        .filter_map(|(_, rest)| rest.split_once('('))
        .map(|(name, _)| name)
        .collect();
    kernels.dedup();
    kernels
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Feature, generate};

    #[test]
    fn every_object_gets_into_the_last_link() {
        let all = Feature::ALL.iter().copied().collect::<BTreeSet<_>>();
        let mut with_kernels = 0;
        for seed in 0..200 {
            let mut program = generate(seed, &"90".parse().unwrap(), Language::Ptx, &all);
            let objects: Vec<String> = program.units.iter().map(|unit| unit.file()).collect();
            assert_eq!(of(&program, objects.clone(), "out").len(), 1);
            program.steps = Some(seed);
            assert_eq!(of(&program, Vec::new(), "out").len(), 1);
            let mut steps = of(&program, objects.clone(), "out");
            assert_eq!(steps, of(&program, objects.clone(), "out"));
            let last = steps.pop().unwrap();
            with_kernels += usize::from(last.options.iter().any(|o| o.contains("kernels")));
            let mut inputs = last.inputs;
            while let Some(step) = steps.pop() {
                assert_eq!(step.options[0], "-r");
                let at = inputs
                    .iter()
                    .position(|input| *input == step.output)
                    .unwrap();
                inputs.splice(at..=at, step.inputs);
            }
            assert_eq!(inputs, objects);
        }
        assert!(with_kernels > 10);
    }
}
