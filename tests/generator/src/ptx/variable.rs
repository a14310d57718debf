//! Declares and defines variables.

use crate::feature::Feature;
use crate::plan::{Home, Linkage, Space, Value, Variable};
use crate::program::Item;
use crate::unified;

use super::Writer;

impl Writer<'_> {
    /// Declares a variable that another unit defines.
    pub(super) fn declare_variable(&mut self, variable: &Variable) -> Item {
        let is_open = self.plan.has(Feature::Unsized) && self.random.chance(40);
        let clashes = self.plan.has(Feature::Clash) && self.random.chance(10);
        let brackets = match variable.space {
            Space::Global if clashes => format!("[{}]", variable.count + 1),
            Space::Dynamic => "[]".to_owned(),
            Space::Global | Space::Constant if is_open && variable.count > 1 => "[]".to_owned(),
            _ if variable.count == 1 => String::new(),
            _ => format!("[{}]", variable.count),
        };
        let align = match is_open {
            true => variable.width,
            false => variable.align,
        };
        Item::new(
            match is_open {
                true => Feature::Unsized,
                false => variable.feature,
            },
            format!(".extern {}{brackets};", name(variable, align)),
        )
    }
}

/// The declaration without brackets.
fn name(variable: &Variable, align: usize) -> String {
    let attribute = match variable.managed {
        true => " .attribute(.managed)".to_owned(),
        false => unified::attribute(variable.unified, false),
    };
    let kind = match (variable.width, variable.value) {
        (1, Value::Bytes) => "u8",
        (1, _) => "b8",
        (2, _) => "b16",
        (8, Value::Functions | Value::Variables) => "u64",
        (8, _) => "b64",
        _ => "b32",
    };
    format!(
        ".{}{attribute} .align {align} .{kind} {}",
        variable.space.word(),
        variable.name
    )
}

impl Writer<'_> {
    /// Defines a variable.
    pub(super) fn variable(&mut self, index: usize, variable: &Variable, home: Home) -> Item {
        let linkage = match home.linkage {
            Linkage::Visible => ".visible ",
            Linkage::Weak => ".weak ",
            Linkage::Static => "",
            Linkage::Common => ".common ",
        };
        // nvlink takes the largest of several definitions of one name.
        let mut count = variable.count;
        if variable.homes.len() > 1 && variable.value == Value::Absent && self.random.chance(15) {
            count += self.random.below(4);
        }
        let brackets = if variable.is_scalar() {
            String::new()
        } else {
            format!("[{}]", count.max(2))
        };
        let single = brackets.is_empty();
        let value = match variable.value {
            Value::Absent => None,
            _ if home.linkage == Linkage::Common => None,
            Value::Numbers => Some(self.numbers(variable)),
            Value::Functions | Value::Variables => self.addresses(index, variable),
            Value::Bytes => self.bytes(index),
        };
        let value = match value {
            Some(values) if single => format!(" = {}", values[0]),
            Some(values) => format!(" = {{{}}}", values.join(", ")),
            None => String::new(),
        };
        Item::new(
            if home.linkage == Linkage::Weak {
                Feature::Weak
            } else {
                variable.feature
            },
            format!(
                "{linkage}{}{brackets}{value};",
                name(variable, variable.align)
            ),
        )
    }

    fn numbers(&mut self, variable: &Variable) -> Vec<String> {
        let given = match self.random.below(3) {
            // Zeros alone may be kept as no value.
            0 => return vec!["0".to_owned()],
            1 => variable.count,
            _ => self.random.within(1..=variable.count),
        };
        (0..given)
            .map(|_| self.random.below(120).to_string())
            .collect()
    }

    fn addresses(&mut self, index: usize, variable: &Variable) -> Option<Vec<String>> {
        let count = self.random.within(1..=variable.count);
        let mut values = Vec::new();
        for _ in 0..count {
            if self.random.chance(10) {
                values.push(self.random.below(1000).to_string());
                continue;
            }
            let value = match &variable.signature {
                Some(signature) => self
                    .some_function(|f| f.signature == *signature)?
                    .name
                    .clone(),
                None => self.variable_address(index)?,
            };
            values.push(value);
        }
        Some(values)
    }

    fn variable_address(&mut self, index: usize) -> Option<String> {
        let unit = self.unit;
        // Only what is defined before or elsewhere has been declared at this place.
        let target = self.some_variable(|other, variable| {
            matches!(variable.space, Space::Global | Space::Constant)
                && (other < index || variable.homes.iter().all(|home| home.unit != unit))
        })?;
        let offset = match self.random.below(3) {
            0 => format!("+{}", target.width * self.random.below(target.count)),
            _ => String::new(),
        };
        Some(match self.random.chance(40) {
            true if target.space == Space::Global || self.random.chance(30) => {
                format!("generic({}){offset}", target.name)
            }
            _ => format!("{}{offset}", target.name),
        })
    }

    fn bytes(&mut self, index: usize) -> Option<Vec<String>> {
        let name = match self.random.chance(50) {
            true => self.some_function(|_| true)?.name.clone(),
            false => {
                let unit = self.unit;
                self.some_variable(|other, variable| {
                    variable.space == Space::Global
                        && (other < index || variable.homes.iter().all(|home| home.unit != unit))
                })?
                .name
                .clone()
            }
        };
        Some(
            (0..self.random.within(1..=8))
                .map(|byte| format!("0xff{}({name})", "00".repeat(byte)))
                .collect(),
        )
    }
}
