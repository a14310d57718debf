//! Gives functions and variables an identity that all images of a program know, and makes the index of their places.

use std::cmp::Reverse;

use crate::feature::Feature;
use crate::plan::{Home, Linkage, Plan, Space};
use crate::target::Target;
use rustnvlink_tests::random::Random;

/// The first word of an index.
const MAGIC: u64 = u64::from_le_bytes(*b"\x7fUFTINDX");

const VERSION: u64 = 1;

/// Bytes of the slot of a function.
const SLOT: u64 = 0x80;

/// The second half of all identities of functions, and of those of variables.
const FUNCTIONS: u64 = 1;
const VARIABLES: u64 = 2;

/// Keeps this source apart from the one of the program.
const SALT: u64 = 0x756e_6966;

/// The word of PTX for the identity of a function or of a variable.
pub(crate) fn attribute(number: Option<u64>, is_function: bool) -> String {
    let half = if is_function { FUNCTIONS } else { VARIABLES };
    match number {
        Some(number) => format!(" .attribute(.unified({number}, {half}))"),
        None => String::new(),
    }
}

/// Chooses some functions and variables, and returns the words of their index; none where the plan has no such.
pub(crate) fn choose(seed: u64, target: &Target, plan: &mut Plan) -> Vec<u64> {
    if !plan.has(Feature::Unified) || target.number < 90 {
        return Vec::new();
    }
    let mut random = Random::new(seed ^ SALT);
    let is_single = |homes: &[Home]| matches!(homes, [home] if home.linkage == Linkage::Visible);
    let mut functions = Vec::new();
    for function in &mut plan.functions {
        if is_single(&function.homes) && random.chance(40) {
            function.unified = Some(100 + functions.len() as u64);
            functions.push([100 + functions.len() as u64, FUNCTIONS]);
        }
    }
    let mut variables = Vec::new();
    for variable in &mut plan.variables {
        let is_plain = variable.space == Space::Global && !variable.managed;
        // What is between them, and not of this program, would be what nvlink's memory holds.
        let is_even = variable.size().is_multiple_of(variable.align);
        if is_plain && is_even && is_single(&variable.homes) && random.chance(60) {
            let number = 500 + variables.len() as u64;
            variable.unified = Some(number);
            variables.push((number, variable.align, variable.size() as u64));
        }
    }
    if functions.is_empty() && variables.is_empty() {
        return Vec::new();
    }
    random.shuffle(&mut functions);
    random.shuffle(&mut variables);
    variables.sort_by_key(|(_, align, _)| Reverse(*align));
    let mut end = 0;
    let mut place = |(number, _, size): (u64, usize, u64)| {
        end += size;
        [number, VARIABLES, end - size]
    };
    let places: Vec<[u64; 3]> = variables.into_iter().map(&mut place).collect();
    let slots = functions
        .iter()
        .zip(0..)
        .map(|([number, half], at)| [*number, *half, at * SLOT]);
    let counts = [functions.len() as u64, places.len() as u64];
    let head = [MAGIC, VERSION, counts[0] * SLOT, counts[0], end, counts[1]];
    head.into_iter()
        .chain(slots.chain(places).flatten())
        .collect()
}
