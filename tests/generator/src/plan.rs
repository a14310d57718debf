//! Which symbols a program has and where they are defined, decided before any text is written.

use std::collections::BTreeSet;

use crate::feature::Feature;
use rustnvlink_tests::random::Random;

/// The type of a parameter or result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    B32,
    B64,
    F32,
    F64,
    /// So many bytes, aligned like this.
    Bytes(usize, usize),
}

/// Parameters and result of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) result: Option<Type>,
    pub(crate) parameters: Vec<Type>,
}

/// How a definition is seen from other units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linkage {
    Visible,
    Weak,
    Static,
    Common,
}

/// One definition of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) unit: usize,
    pub(crate) linkage: Linkage,
}

/// A function or an entry.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) signature: Signature,
    pub(crate) homes: Vec<Home>,
    /// Only functions further on are called, so that nothing recurses by accident.
    pub(crate) rank: usize,
    /// Nothing calls it.
    pub(crate) unused: bool,
    /// It ends the thread.
    pub(crate) no_return: bool,
    /// What all images of the program know it by.
    pub(crate) unified: Option<u64>,
}

/// Where a variable lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Constant,
    Shared,
    /// Shared memory of a size known at launch.
    Dynamic,
}

impl Space {
    /// The word of PTX.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Constant => "const",
            Self::Shared | Self::Dynamic => "shared",
        }
    }
}

/// The initial value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// None is given.
    Absent,
    Numbers,
    /// Addresses of functions.
    Functions,
    /// Addresses of variables.
    Variables,
    /// Bytes of addresses.
    Bytes,
}

/// A variable of a module.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) feature: Feature,
    pub(crate) name: String,
    pub(crate) space: Space,
    /// Bytes of an element.
    pub(crate) width: usize,
    pub(crate) count: usize,
    pub(crate) align: usize,
    pub(crate) value: Value,
    pub(crate) managed: bool,
    pub(crate) homes: Vec<Home>,
    /// The signature that all functions of a table have.
    pub(crate) signature: Option<Signature>,
    /// What all images of the program know it by.
    pub(crate) unified: Option<u64>,
}

impl Variable {
    /// Whether it is no array.
    pub(crate) fn is_scalar(&self) -> bool {
        self.count == 1 && self.value != Value::Bytes
    }

    /// Its bytes in units that do not ask for more.
    pub(crate) fn size(&self) -> usize {
        match self.is_scalar() {
            true => self.width,
            false => self.width * self.count.max(2),
        }
    }
}

/// All symbols of a program.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) units: usize,
    pub(crate) functions: Vec<Function>,
    pub(crate) entries: Vec<Function>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) signatures: Vec<Signature>,
    pub(crate) features: BTreeSet<Feature>,
}

const WORDS: &[&str] = &[
    "alpha",
    "b",
    "mix",
    "step_one",
    "z",
    "reduce_block_of_values",
    "Foo",
    "_pad",
    "q$q",
    "zeta",
    "apply",
    "n",
    "visit",
    "load_tile",
    "store",
    "h",
];

const STATIC_WORDS: &[&str] = &["helper", "state", "local_table", "s", "inner"];

impl Plan {
    /// Decides on the symbols.
    pub(crate) fn new(random: &mut Random, features: BTreeSet<Feature>) -> Self {
        let units = match random.below(10) {
            0 => 1,
            1..=5 => 2,
            6..=7 => 3,
            8 => 4,
            _ => random.within(5..=6),
        };
        let mut plan = Self {
            units,
            functions: Vec::new(),
            entries: Vec::new(),
            variables: Vec::new(),
            signatures: Vec::new(),
            features,
        };
        plan.add_signatures(random);
        plan.add_functions(random);
        plan.add_entries(random);
        plan.add_variables(random);
        plan
    }

    /// Whether the program may contain this.
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    fn add_signatures(&mut self, random: &mut Random) {
        for _ in 0..random.within(1..=4) {
            let mut one = || match random.below(12) {
                0..=5 => Type::B32,
                6..=7 => Type::B64,
                8 => Type::F32,
                9..=10 => Type::F64,
                _ if random.chance(30) => Type::Bytes(16 * random.within(1..=16), 16),
                _ => Type::Bytes(4 * random.within(1..=8), 4),
            };
            let result = [Some(one()), Some(Type::B32), None];
            let parameters = [one(), one(), one(), one()];
            let signature = Signature {
                result: result[random.below(3)],
                parameters: parameters[..random.below(4)].to_vec(),
            };
            self.signatures.push(signature);
        }
    }

    fn add_functions(&mut self, random: &mut Random) {
        let count = match random.below(4) {
            0 => random.within(0..=2),
            1 | 2 => random.within(2..=6),
            _ => random.within(6..=14),
        };
        for index in 0..count {
            let (name, mut homes) = self.place(random, index, false);
            if self.has(Feature::Clash) && random.chance(15) {
                homes = self.clash(random, &[Linkage::Visible, Linkage::Weak, Linkage::Weak]);
            }
            let signature = random.pick(&self.signatures).clone();
            let function = Function {
                name,
                no_return: signature.result.is_none()
                    && self.has(Feature::NoReturn)
                    && random.chance(40),
                signature,
                homes,
                rank: random.below(count),
                unused: self.has(Feature::Unused) && random.chance(20),
                unified: None,
            };
            self.functions.push(function);
        }
    }

    fn add_entries(&mut self, random: &mut Random) {
        let count = match random.below(12) {
            0 => 0,
            1..=4 => 1,
            5..=8 => 2,
            _ => random.within(3..=6),
        };
        for index in 0..count {
            let name = format!("{}_k{index}", random.pick(WORDS));
            let unit = random.below(self.units);
            let linkage = match self.has(Feature::Weak) && random.chance(15) {
                true => Linkage::Weak,
                false => Linkage::Visible,
            };
            let mut homes = vec![Home { unit, linkage }];
            if linkage == Linkage::Weak && random.chance(50) {
                self.repeat(random, &mut homes);
            }
            let parameters = match self.has(Feature::Parameters) && random.chance(50) {
                true => (0..random.within(0..=12))
                    .map(|_| match random.below(6) {
                        0 => Type::B32,
                        1 => Type::B64,
                        2 => Type::F64,
                        3 => Type::Bytes(random.within(1..=300), 1),
                        4 => Type::Bytes(4 * random.within(1..=64), 4),
                        _ => Type::Bytes(128, 64),
                    })
                    .collect(),
                false => Vec::new(),
            };
            self.entries.push(Function {
                name,
                signature: Signature {
                    result: None,
                    parameters,
                },
                homes,
                rank: 0,
                unused: false,
                no_return: false,
                unified: None,
            });
        }
    }

    fn repeat(&self, random: &mut Random, homes: &mut Vec<Home>) {
        for unit in 0..self.units {
            if homes.iter().all(|home| home.unit != unit) && random.chance(50) {
                homes.push(Home {
                    unit,
                    linkage: Linkage::Weak,
                });
            }
        }
        if homes.len() > 1 && random.chance(25) {
            let strong = random.below(homes.len());
            homes[strong].linkage = Linkage::Visible;
        }
    }

    /// Definitions in several units that may not go together.
    fn clash(&self, random: &mut Random, linkages: &[Linkage]) -> Vec<Home> {
        let mut homes = Vec::new();
        for unit in 0..self.units {
            if random.chance(60) {
                let linkage = *random.pick(linkages);
                homes.push(Home { unit, linkage });
            }
        }
        homes
    }

    /// Names a symbol and says where it is defined.
    fn place(&self, random: &mut Random, index: usize, variable: bool) -> (String, Vec<Home>) {
        let unit = random.below(self.units);
        let kind = if variable { "v" } else { "f" };
        let name = format!("{}_{kind}{index}", random.pick(WORDS));
        let one = |linkage| vec![Home { unit, linkage }];
        if self.has(Feature::Static) && random.chance(25) {
            let name = format!("{}_{kind}", random.pick(STATIC_WORDS));
            let taken = if variable {
                self.variables.iter().any(|other| {
                    other.name == name && other.homes.iter().any(|home| home.unit == unit)
                })
            } else {
                self.functions.iter().any(|other| {
                    other.name == name && other.homes.iter().any(|home| home.unit == unit)
                })
            };
            if !taken {
                return (name, one(Linkage::Static));
            }
        }
        if self.has(Feature::Shadow) && random.chance(20) {
            let names: Vec<&str> = match variable {
                true => self.variables.iter().map(|v| &*v.name).collect(),
                false => self.functions.iter().map(|f| &*f.name).collect(),
            };
            if !names.is_empty() {
                let name = random.pick(&names).to_string();
                let homes = match variable {
                    true => self
                        .variables
                        .iter()
                        .filter(|v| v.name == name)
                        .flat_map(|v| v.homes.clone())
                        .collect::<Vec<_>>(),
                    false => self
                        .functions
                        .iter()
                        .filter(|f| f.name == name)
                        .flat_map(|f| f.homes.clone())
                        .collect(),
                };
                if homes.iter().all(|home| home.unit != unit) {
                    return (name, one(Linkage::Static));
                }
            }
        }
        if self.has(Feature::Duplicate) && random.chance(20) && self.units > 1 {
            let linkage = Linkage::Visible;
            let other = (unit + 1) % self.units;
            return (
                name,
                vec![
                    Home { unit, linkage },
                    Home {
                        unit: other,
                        linkage,
                    },
                ],
            );
        }
        if self.has(Feature::Undefined) && random.chance(10) {
            return (name, Vec::new());
        }
        if self.has(Feature::Weak) && random.chance(30) {
            let mut homes = one(Linkage::Weak);
            self.repeat(random, &mut homes);
            random.shuffle(&mut homes);
            return (name, homes);
        }
        (name, one(Linkage::Visible))
    }

    fn add_variables(&mut self, random: &mut Random) {
        let kinds: Vec<Feature> = [
            Feature::Global,
            Feature::Global,
            Feature::Constant,
            Feature::Constant,
            Feature::ModuleShared,
            Feature::ModuleShared,
            Feature::DynamicShared,
            Feature::Pointer,
            Feature::Byte,
            Feature::Table,
            Feature::Common,
            Feature::Managed,
        ]
        .into_iter()
        .filter(|kind| self.has(*kind))
        .collect();
        if kinds.is_empty() {
            return;
        }
        let count = match random.below(3) {
            0 => random.within(0..=2),
            1 => random.within(2..=6),
            _ => random.within(6..=14),
        };
        for index in 0..count {
            let feature = *random.pick(&kinds);
            let variable = self.variable(random, index, feature);
            self.variables.push(variable);
        }
    }

    fn variable(&self, random: &mut Random, index: usize, feature: Feature) -> Variable {
        let (name, homes) = self.place(random, index, true);
        let width = *random.pick(&[1, 2, 4, 4, 4, 8]);
        let count = match random.below(4) {
            0 | 1 => 1,
            2 => random.within(2..=8),
            _ => random.within(9..=100),
        };
        let align = match random.below(3) {
            0 | 1 => width,
            _ => width << random.below(6),
        };
        let mut variable = Variable {
            feature,
            name,
            space: Space::Global,
            width,
            count,
            align,
            value: Value::Absent,
            managed: false,
            homes,
            signature: None,
            unified: None,
        };
        match feature {
            Feature::Constant => {
                variable.space = Space::Constant;
                if random.chance(70) {
                    variable.value = Value::Numbers;
                }
            }
            Feature::ModuleShared => variable.space = Space::Shared,
            Feature::DynamicShared => {
                variable.space = Space::Dynamic;
                variable.homes.clear();
                variable.name = format!("dynamic_v{index}");
                if random.chance(50) {
                    "dynamic".clone_into(&mut variable.name);
                    variable.width = 1;
                    variable.align = 16;
                }
            }
            Feature::Pointer | Feature::Table => {
                let constant = random.chance(40);
                variable.space = if constant {
                    Space::Constant
                } else {
                    Space::Global
                };
                variable.width = 8;
                variable.align = 8 << (random.below(8) / 6);
                variable.count = random.within(1..=5);
                variable.value = Value::Variables;
                if feature == Feature::Table {
                    variable.value = Value::Functions;
                    variable.signature = Some(random.pick(&self.signatures).clone());
                }
            }
            Feature::Byte => {
                variable.width = 1;
                variable.align = 1 << random.below(4);
                variable.count = random.within(8..=12);
                variable.value = Value::Bytes;
            }
            Feature::Common => self.make_common(random, &mut variable),
            _ => {
                variable.managed = feature == Feature::Managed;
                if random.chance(50) {
                    variable.value = Value::Numbers;
                }
            }
        }
        let is_plain = variable.signature.is_none() && variable.space == Space::Global;
        if self.has(Feature::Clash) && is_plain && random.chance(30) {
            let linkages = [Linkage::Visible, Linkage::Weak, Linkage::Common];
            variable.homes = self.clash(random, &linkages);
            // A name that is a function elsewhere.
            if let (true, Some(function)) = (random.chance(8), self.functions.first()) {
                variable.name.clone_from(&function.name);
            }
        }
        if variable.managed {
            variable
                .homes
                .retain(|home| home.linkage != Linkage::Static);
            if variable.homes.is_empty() {
                variable.name = format!("managed_v{index}");
                let (unit, linkage) = (random.below(self.units), Linkage::Visible);
                variable.homes.push(Home { unit, linkage });
            }
        }
        variable
    }

    /// Tentative definitions in several units, of which one may have a value.
    fn make_common(&self, random: &mut Random, variable: &mut Variable) {
        let is_visible = |home: &Home| home.linkage == Linkage::Visible;
        if !variable.homes.iter().all(is_visible) {
            return;
        }
        for home in &mut variable.homes {
            home.linkage = Linkage::Common;
        }
        for unit in 0..self.units {
            if variable.homes.iter().all(|home| home.unit != unit) && random.chance(40) {
                let linkage = match random.below(8) {
                    0 => Linkage::Weak,
                    _ => Linkage::Common,
                };
                variable.homes.push(Home { unit, linkage });
            }
        }
        if random.chance(20)
            && let Some(home) = variable.homes.first_mut()
        {
            home.linkage = Linkage::Visible;
            variable.value = Value::Numbers;
        }
    }
}
