//! How units are compiled and what they are packed into before they are linked. Like the options of [`crate::tuning`],
//! these decisions come from a source of their own.

use std::collections::BTreeSet;

use crate::feature::Feature;
use crate::program::{Language, Program};
use crate::target::Target;
use rustnvlink_tests::random::Random;

/// How many programs in a hundred have units that are no plain objects.
const PROGRAMS: usize = 50;

/// Keeps this source apart from the one of the program.
const SALT: u64 = 0x6275_696c;

/// Other processors whose code a container holds, too.
const OTHERS: &[&str] = &[
    "75", "80", "86", "90", "90a", "100", "103", "110", "120", "121",
];

/// How fatbins compress what they hold.
const COMPRESSIONS: &[&str] = &["default", "size", "speed", "balance", "none"];

/// How a unit is compiled and packed; by default it is an object of the newest compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Build {
    /// Which of the older assemblers makes it; 0 is that of the toolkit.
    pub(crate) assembler: usize,
    /// It is compiled as a whole program, to which functions can be linked.
    pub(crate) whole: bool,
    /// It is in the library of the units beside it that are archived, too.
    pub(crate) archived: bool,
    pub(crate) carrier: Carrier,
}

/// What the linkers get of a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Carrier {
    #[default]
    Object,
    /// Its text, which linkers compile.
    Source,
    /// A host object with code that the link compiles.
    Intermediate,
    Fatbin(Images),
    HostObject(Images),
}

/// What a container holds of a unit besides its code for the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Images {
    pub(crate) compression: &'static str,
    /// All images are compressed, and not only those where it pays.
    pub(crate) all: bool,
    /// PTX for the processor.
    pub(crate) ptx: bool,
    /// The code of the processor itself, which is there unless linkers are to compile the PTX.
    pub(crate) native: bool,
    pub(crate) others: Vec<Target>,
}

impl Build {
    /// The features that it stands for.
    pub(crate) fn features(&self) -> impl Iterator<Item = Feature> {
        let carrier = match &self.carrier {
            Carrier::Object => None,
            Carrier::Source => Some(Feature::Source),
            Carrier::Intermediate => Some(Feature::Intermediate),
            Carrier::Fatbin(_) => Some(Feature::Fatbin),
            Carrier::HostObject(_) => Some(Feature::HostObject),
        };
        let flags = [
            (self.assembler > 0, Feature::Older),
            (self.whole, Feature::Whole),
            (self.archived, Feature::Archive),
        ];
        let flags = flags
            .into_iter()
            .filter_map(|(is, feature)| is.then_some(feature));
        flags.chain(carrier)
    }
}

/// Decides it for all units.
pub(crate) fn add(seed: u64, program: &mut Program, allowed: &BTreeSet<Feature>) {
    let mut random = Random::new(seed ^ SALT);
    if !random.chance(PROGRAMS) {
        return;
    }
    let kinds = [
        (Feature::Older, 30),
        (Feature::Whole, 15),
        (Feature::Archive, 40),
        (Feature::Source, 20),
        (Feature::Fatbin, 50),
        (Feature::HostObject, 50),
        (Feature::Intermediate, 25),
    ];
    let chosen: BTreeSet<Feature> = kinds
        .into_iter()
        .filter(|(_, percent)| random.chance(*percent))
        .map(|(feature, _)| feature)
        .filter(|feature| allowed.contains(feature))
        .collect();
    let carriers: Vec<Feature> = [
        Feature::Source,
        Feature::Fatbin,
        Feature::HostObject,
        Feature::Intermediate,
    ]
    .into_iter()
    .filter(|feature| chosen.contains(feature))
    .collect();
    for unit in &mut program.units {
        let is_ptx = unit.language == Language::Ptx;
        let build = &mut unit.build;
        if chosen.contains(&Feature::Older) && is_ptx && random.chance(60) {
            build.assembler = random.within(1..=6);
        }
        build.whole = chosen.contains(&Feature::Whole) && is_ptx && random.chance(40);
        build.archived = chosen.contains(&Feature::Archive) && random.chance(60);
        if carriers.is_empty() || random.chance(30) {
            continue;
        }
        build.carrier = match random.pick(&carriers) {
            Feature::Source if is_ptx => Carrier::Source,
            Feature::Intermediate if !is_ptx => Carrier::Intermediate,
            Feature::Fatbin => Carrier::Fatbin(images(&mut random)),
            Feature::HostObject => Carrier::HostObject(images(&mut random)),
            _ => Carrier::Object,
        };
        // A library holds files of code, and text is none.
        build.archived &= build.carrier != Carrier::Source;
    }
}

fn images(random: &mut Random) -> Images {
    let ptx = random.chance(40);
    Images {
        compression: COMPRESSIONS[random.below(COMPRESSIONS.len())],
        all: random.chance(50),
        ptx,
        native: !ptx || random.chance(70),
        others: (0..random.below(5) / 2)
            .filter_map(|_| random.pick(OTHERS).parse().ok())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn all_ways_occur_and_only_those_allowed() {
        let target: Target = "90".parse().unwrap();
        let all: BTreeSet<Feature> = Feature::ALL.iter().copied().collect();
        let builds = |language: Language, allowed: &BTreeSet<Feature>| -> BTreeSet<Feature> {
            (0..400)
                .map(|seed| generate(seed, &target, language, allowed))
                .flat_map(|program| program.units)
                .flat_map(|unit| unit.build.features().collect::<Vec<_>>())
                .collect()
        };
        let both = [Feature::Archive, Feature::Fatbin, Feature::HostObject];
        let ptx = [Feature::Older, Feature::Whole, Feature::Source];
        let with = |more: &[Feature]| both.iter().chain(more).copied().collect::<BTreeSet<_>>();
        assert_eq!(builds(Language::Ptx, &all), with(&ptx));
        assert_eq!(builds(Language::Cuda, &all), with(&[Feature::Intermediate]));
        let few = BTreeSet::from([Feature::Base, Feature::Archive]);
        assert_eq!(
            builds(Language::Ptx, &few),
            BTreeSet::from([Feature::Archive])
        );
    }
}
