//! Writes programs in PTX, which assembles fifty times faster than CUDA compiles.

mod function;
mod launch;
mod pieces;
mod snippets;
mod texture;
mod unusual;
mod variable;

use std::collections::BTreeSet;

use crate::build::Build;
use crate::feature::Feature;
use crate::large;
use crate::plan::{Function, Home, Linkage, Plan, Signature, Space, Type, Variable};
use crate::program::{Item, Language, Piece, Program, Unit};
use crate::target::Target;
use crate::unified;
use rustnvlink_tests::random::Random;

/// The version of the language, as the first line of a unit says it.
pub(crate) const VERSION: &str = ".version 9.0\n";

/// Makes a program that may contain these features.
pub(crate) fn program(
    seed: u64,
    random: &mut Random,
    target: &Target,
    features: BTreeSet<Feature>,
) -> Program {
    let mut plan = Plan::new(random, features);
    large::widen(seed, &mut plan);
    let index = unified::choose(seed, target, &mut plan);
    let others = match plan.has(Feature::Mixed) {
        true => target.takes(),
        false => Vec::new(),
    };
    let mut units: Vec<Unit> = (0..plan.units)
        .map(|unit| {
            let target = match others.is_empty() || random.chance(50) {
                true => target,
                false => random.pick(&others),
            };
            Writer::new(random, &plan, target, unit).write()
        })
        .collect();
    if plan.has(Feature::Unused) && random.chance(30) {
        // The same file twice, under another name.
        let mut twin = random.pick(&units).clone();
        if twin
            .items
            .iter()
            .all(|item| item.head.contains(".weak") || !item.head.contains(".visible"))
        {
            twin.name.push_str("_again");
            units.push(twin);
        }
    }
    random.shuffle(&mut units);
    Program {
        target: target.clone(),
        units,
        index,
        steps: None,
    }
}

/// A symbol of the plan by its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reference {
    Function(usize),
    Variable(usize),
}

/// A declaration of something that the driver provides or the unit needs once.
type Once = (Feature, String);

/// Writes one unit.
struct Writer<'a> {
    random: &'a mut Random,
    plan: &'a Plan,
    target: &'a Target,
    unit: usize,
    /// Symbols the text mentions; they need declarations.
    mentioned: BTreeSet<Reference>,
    once: Vec<Once>,
    labels: usize,
    lines: bool,
    /// Textures are read by samplers of their own.
    independent: bool,
}

impl<'a> Writer<'a> {
    fn new(random: &'a mut Random, plan: &'a Plan, target: &'a Target, unit: usize) -> Self {
        Self {
            random,
            plan,
            target,
            unit,
            mentioned: BTreeSet::new(),
            once: Vec::new(),
            labels: 0,
            lines: false,
            independent: false,
        }
    }

    fn write(mut self) -> Unit {
        let plan = self.plan;
        let name = format!("u{}", self.unit);
        let options = self.options();
        self.independent = plan.has(Feature::Sampler) && self.random.chance(40);
        let mut functions = Vec::new();
        for function in &plan.entries {
            if let Some(home) = self.home(&function.homes) {
                functions.push(self.entry(function, home));
            }
        }
        for (index, function) in plan.functions.iter().enumerate() {
            if let Some(home) = self.home(&function.homes) {
                self.mentioned.insert(Reference::Function(index));
                functions.push(self.function(function, home));
            }
        }
        self.random.shuffle(&mut functions);

        let mut variables = Vec::new();
        for (index, variable) in plan.variables.iter().enumerate() {
            if let Some(home) = self.home(&variable.homes) {
                variables.push((index, self.variable(index, variable, home)));
            }
        }
        let mut items = Vec::new();
        if self.lines {
            items.push(Item::new(
                Feature::LineInfo,
                format!(".file 1 \"{name}.cu\""),
            ));
            items.extend(self.further_files());
        }
        for (feature, text) in &self.once {
            items.push(Item::new(*feature, text));
        }
        for reference in &self.mentioned {
            if let Reference::Function(index) = *reference {
                items.push(self.declare_function(&plan.functions[index]));
            }
        }
        for reference in std::mem::take(&mut self.mentioned) {
            if let Reference::Variable(index) = reference {
                let variable = &plan.variables[index];
                if self.home(&variable.homes).is_none() {
                    items.push(self.declare_variable(variable));
                }
            }
        }
        items.extend(variables.into_iter().map(|(_, item)| item));
        if plan.has(Feature::Alias) && self.random.chance(40) {
            items.extend(self.alias());
        }
        items.extend(functions);
        let mode = match self.independent {
            true => ", texmode_independent",
            false => "",
        };
        Unit {
            name,
            language: Language::Ptx,
            target: self.target.clone(),
            head: format!("{VERSION}.target {}{mode}\n.address_size 64\n", self.target),
            options,
            build: Build::default(),
            items,
        }
    }

    /// The definition that this unit holds.
    fn home(&self, homes: &[Home]) -> Option<Home> {
        homes.iter().find(|home| home.unit == self.unit).copied()
    }

    /// Whether the text of this unit can name the symbol.
    fn reaches(&self, name: &str, homes: &[Home]) -> bool {
        if let [home] = homes
            && home.linkage == Linkage::Static
        {
            return home.unit == self.unit;
        }
        let hides = |other: &str, homes: &[Home]| {
            other == name
                && homes.len() == 1
                && homes[0].linkage == Linkage::Static
                && homes[0].unit == self.unit
        };
        !self.plan.functions.iter().any(|f| hides(&f.name, &f.homes))
            && !self.plan.variables.iter().any(|v| hides(&v.name, &v.homes))
    }

    /// Mentions a function for which the condition holds.
    fn some_function(&mut self, fits: impl Fn(&Function) -> bool) -> Option<&'a Function> {
        let plan = self.plan;
        let candidates: Vec<usize> = (0..plan.functions.len())
            .filter(|index| {
                let function = &plan.functions[*index];
                fits(function) && self.reaches(&function.name, &function.homes)
            })
            .collect();
        if candidates.is_empty() {
            return None;
        }
        let index = *self.random.pick(&candidates);
        self.mentioned.insert(Reference::Function(index));
        Some(&plan.functions[index])
    }

    /// Mentions a function of this unit that returns, if its linkage here fits.
    fn some_function_here(&mut self, fits: impl Fn(Linkage) -> bool) -> Option<&'a Function> {
        let unit = self.unit;
        self.some_function(|f| {
            let mut homes = f.homes.iter();
            !f.no_return && homes.any(|home| home.unit == unit && fits(home.linkage))
        })
    }

    /// Mentions a variable for which the condition holds.
    fn some_variable(&mut self, fits: impl Fn(usize, &Variable) -> bool) -> Option<&'a Variable> {
        let plan = self.plan;
        let candidates: Vec<usize> = (0..plan.variables.len())
            .filter(|index| {
                let variable = &plan.variables[*index];
                fits(*index, variable) && self.reaches(&variable.name, &variable.homes)
            })
            .collect();
        if candidates.is_empty() {
            return None;
        }
        let index = *self.random.pick(&candidates);
        self.mentioned.insert(Reference::Variable(index));
        Some(&plan.variables[index])
    }

    /// Declares something the unit needs once.
    fn need(&mut self, feature: Feature, text: &str) {
        if self.once.iter().all(|(_, other)| other != text) {
            self.once.push((feature, text.to_owned()));
        }
    }

    /// A label that no other place of the unit has.
    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn options(&mut self) -> Vec<Piece> {
        let mut options = Vec::new();
        let plan = self.plan;
        if plan.has(Feature::Debug) && self.random.chance(70) {
            options.push(Piece::new(Feature::Debug, "-g"));
            self.lines = self.random.chance(50);
        } else if plan.has(Feature::LineInfo) && self.random.chance(70) {
            options.push(Piece::new(Feature::LineInfo, "-lineinfo"));
            self.lines = true;
        }
        if plan.has(Feature::Level)
            && self.random.chance(60)
            && !options.iter().any(|o| o.feature == Feature::Debug)
        {
            let level = self.random.pick(&["-O0", "-O1", "-O2", "-O3"]);
            options.push(Piece::new(Feature::Level, *level));
        }
        if plan.has(Feature::Registers) && self.random.chance(50) {
            let limit = self.random.pick(&[32, 40, 64, 128]);
            options.push(Piece::new(
                Feature::Registers,
                format!("-maxrregcount {limit}"),
            ));
        }
        options
    }

    fn alias(&mut self) -> Vec<Item> {
        let aliased = self.some_function_here(|linkage| linkage == Linkage::Visible);
        let Some(function) = aliased else {
            return Vec::new();
        };
        let name = format!("{}_alias{}", function.name, self.unit);
        let (result, parameters) = parts(&function.signature);
        let linkage = self.random.pick(&[".visible", ".visible", ".weak"]);
        vec![
            Item::new(
                Feature::Alias,
                format!("{linkage} .func {result}{name}{parameters};"),
            ),
            Item::new(Feature::Alias, format!(".alias {name}, {};", function.name)),
        ]
    }
}

/// The type of a register or value of PTX, with the brackets of an array in `after`.
fn typed(kind: Type) -> (String, String) {
    match kind {
        Type::B32 => (".b32".to_owned(), String::new()),
        Type::B64 => (".b64".to_owned(), String::new()),
        Type::F32 => (".f32".to_owned(), String::new()),
        Type::F64 => (".f64".to_owned(), String::new()),
        Type::Bytes(size, align) => (format!(".align {align} .b8"), format!("[{size}]")),
    }
}

/// `.param .b32 name`.
fn parameter(kind: Type, name: &str) -> String {
    let (before, after) = typed(kind);
    format!(".param {before} {name}{after}")
}

/// What stands before and after the name of a function.
fn parts(signature: &Signature) -> (String, String) {
    let result = match signature.result {
        Some(kind) => format!("({}) ", parameter(kind, "result")),
        None => String::new(),
    };
    let parameters: Vec<_> = signature
        .parameters
        .iter()
        .enumerate()
        .map(|(index, kind)| parameter(*kind, &format!("p{index}")))
        .collect();
    (result, format!(" ({})", parameters.join(", ")))
}

impl Space {
    /// How code spells loads and stores.
    fn is_shared(self) -> bool {
        matches!(self, Self::Shared | Self::Dynamic)
    }
}
