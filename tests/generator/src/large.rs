//! Makes variables and parameters of a plan larger than most programs have them. Like the options of [`crate::tuning`],
//! these decisions come from a source of their own.

use crate::feature::Feature;
use crate::plan::{Function, Plan, Space, Type, Value};
use rustnvlink_tests::random::Random;

/// Keeps this source apart from the one of the program.
const SALT: u64 = 0x756e_7573;

/// Elements of variables that no image holds.
const COUNTS: &[usize] = &[1 << 12, 100_000, 20_000_000, 1 << 30];

/// The largest parameters of entries together, since PTX 8.1.
const PARAMETERS: usize = 32_764;

/// Makes some variables and parameters larger.
pub(crate) fn widen(seed: u64, plan: &mut Plan) {
    let mut random = Random::new(seed ^ SALT);
    if plan.has(Feature::Shape) {
        for variable in &mut plan.variables {
            let is_plain = variable.value == Value::Absent && variable.signature.is_none();
            match variable.space {
                Space::Global if is_plain && random.chance(30) => {
                    variable.count = *random.pick(COUNTS);
                }
                Space::Shared if random.chance(15) => {
                    variable.count = random.within(1000..=7000);
                }
                _ => {}
            }
            if random.chance(20) {
                variable.align = 128 << random.below(6);
            }
        }
    }
    if plan.has(Feature::Wide) {
        for entry in &mut plan.entries {
            if random.chance(50) {
                let size = size_of_all(entry);
                let wide = 8 * random.within(100..=4000);
                if size + wide < PARAMETERS {
                    let at = random.within(0..=entry.signature.parameters.len());
                    entry.signature.parameters.insert(at, Type::Bytes(wide, 8));
                }
            }
        }
        let wide = Type::Bytes(4 * random.within(60..=900), 4);
        if random.chance(50) {
            widen_signature(&mut random, plan, wide);
        }
    }
}

/// At most what the parameters take, with room between them.
fn size_of_all(entry: &Function) -> usize {
    let sizes = entry.signature.parameters.iter().map(|kind| match kind {
        Type::Bytes(size, align) => size + align,
        Type::B32 | Type::F32 | Type::B64 | Type::F64 => 16,
    });
    64 + sizes.sum::<usize>()
}

/// Gives all functions of one signature another parameter.
fn widen_signature(random: &mut Random, plan: &mut Plan, wide: Type) {
    let chosen = random.pick(&plan.signatures).clone();
    let mut wider = chosen.clone();
    wider.parameters.push(wide);
    let functions = plan.functions.iter_mut().map(|f| &mut f.signature);
    let tables = plan.variables.iter_mut();
    let tables = tables.filter_map(|variable| variable.signature.as_mut());
    let signatures = plan.signatures.iter_mut().chain(functions).chain(tables);
    signatures
        .filter(|signature| **signature == chosen)
        .for_each(|signature| signature.clone_from(&wider));
}
