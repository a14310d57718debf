//! Where variables of code for debuggers stand in registers: for each function
//! a name and a list of variables, each with a register and the code in which
//! it holds the variable. A Mercury link forgets the code of functions that
//! are gone (case `debug_registers`).

use std::borrow::Cow;
use std::collections::HashMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::id::SymbolId;
use crate::layout::LaidOut;
use crate::options::Behaviour;

use super::expanded::Places;
use super::recode::Moves;
use super::scoreboards::instruction::INSTRUCTION;

/// Whether a section has this form.
pub(super) fn is_table(name: &str) -> bool {
    name == ".nv_debug_info_reg_sass"
}

/// Says where variables stand in the code in use, by their Mercury addresses: a
/// definition that another one replaced had other code. Functions that are gone
/// have no ranges. nvlink knows the code of the first function of a name, and no
/// other: what it writes for other code of the name says nothing, and a second
/// table of the name gets no ranges. Ours have none where the code is other code,
/// but for those of several functions of the name. What cannot be read stays.
pub(super) fn place(
    laid_out: &LaidOut<'_>,
    behaviour: Behaviour,
    mercury: &[u8],
    bytes: &mut Cow<'_, [u8]>,
) {
    let (Some(functions), Some(mut twins)) = (functions(bytes), functions(mercury)) else {
        return;
    };
    let as_nvlink = behaviour == Behaviour::Nvlink;
    let in_use = in_use(laid_out);
    let mut named = FxHashSet::default();
    let mut placed = Vec::new();
    for (function, twin) in functions.iter().zip(&mut twins) {
        let is_again = !named.insert(function.name);
        let code = in_use.get(function.name);
        let Some(code) = code.filter(|_| !(is_again && as_nvlink)) else {
            placed.extend(function.variables.iter().map(|v| (v.at, NOWHERE)));
            continue;
        };
        twin.variables.sort_by_key(Variable::order);
        let places = Places::of(laid_out.merged(), code.symbol);
        let Some(places) = places.filter(|_| function.is_twin(twin)) else {
            continue;
        };
        let ranges = twin.variables.iter().map(|twin| twin.places(&places));
        let ranges: Vec<[Option<u64>; 2]> = ranges.collect();
        let is_its_own = || ranges.as_flattened().iter().all(Option::is_some);
        match as_nvlink || is_its_own() {
            true => {
                let pairs = function.variables.iter().zip(&ranges);
                let pairs = pairs.filter(|(variable, _)| variable.has_start());
                // Where no instruction begins nvlink writes 0, and behind the end what its
                // memory holds.
                let native = |place: Option<u64>| place.unwrap_or_default() as u32;
                placed.extend(pairs.map(|(variable, range)| (variable.at, range.map(native))));
            }
            false if code.is_lone => {
                placed.extend(function.variables.iter().map(|v| (v.at, NOWHERE)));
            }
            false => {}
        }
    }
    write(bytes, &placed);
}

/// The first function of a name, in the order of symbols.
struct Code {
    symbol: SymbolId,
    /// No other has the name.
    is_lone: bool,
}

/// The functions in use, by name.
fn in_use<'m>(laid_out: &'m LaidOut<'_>) -> FxHashMap<&'m [u8], Code> {
    let merged = laid_out.merged();
    let later_names = laid_out.pruned.later_names();
    let mut by_name: FxHashMap<&[u8], Code> = FxHashMap::default();
    let own = |&symbol: &SymbolId| {
        let function = merged.symbols[symbol].function;
        function.is_some_and(|function| merged.functions[function].symbol == symbol)
    };
    // In the order of symbols: a static one comes before one that all files know (case `debug_registers_static`).
    let listed = merged.symbols.listed();
    for symbol in listed.filter(own) {
        if !laid_out.pruned.live.symbols[symbol] || later_names.contains(&symbol) {
            continue;
        }
        let is_lone = true;
        by_name
            .entry(merged.symbols[symbol].name.as_bytes())
            .and_modify(|code| code.is_lone = false)
            .or_insert(Code { symbol, is_lone });
    }
    by_name
}

/// Adapts the ranges to code that has moved.
pub(super) fn follow(bytes: &mut Cow<'_, [u8]>, moves: &HashMap<&[u8], &Moves>) {
    let Some(functions) = functions(bytes) else {
        return;
    };
    let mut moved = Vec::new();
    for function in functions {
        let Some(moves) = moves.get(function.name) else {
            continue;
        };
        let of = |offset: u32| moves.of(offset.into()) as u32;
        let placed = function.variables.iter().filter(|v| v.has_start());
        moved.extend(placed.map(|variable| {
            let [first, last] = variable.range;
            // It is the last instruction before another one.
            let first = of(first + SIZE).saturating_sub(SIZE);
            (variable.at, [first, of(last)])
        }));
    }
    write(bytes, &moved);
}

/// The range of what is in no register.
const NOWHERE: [u32; 2] = [0; 2];

/// Bytes of an instruction.
const SIZE: u32 = INSTRUCTION as u32;

/// The variables of a function.
struct Function<'b> {
    name: &'b [u8],
    variables: Vec<Variable<'b>>,
}

impl Function<'_> {
    /// Whether another function has the same variables in the same registers.
    fn is_twin(&self, other: &Self) -> bool {
        let is_same =
            |(a, b): (&Variable<'_>, &Variable<'_>)| a.name == b.name && a.register == b.register;
        self.name == other.name
            && self.variables.len() == other.variables.len()
            && self.variables.iter().zip(&other.variables).all(is_same)
    }
}

/// Where a variable is in a register.
struct Variable<'b> {
    name: &'b [u8],
    register: u32,
    /// Where the range stands in the table.
    at: usize,
    range: [u32; 2],
}

impl Variable<'_> {
    /// Native tables are in this order, Mercury tables are not.
    fn order(&self) -> (u32, u32) {
        (self.register, self.range[0])
    }

    /// Whether the compiler knew where the range starts: not always before a matrix product
    /// (case `debug_registers_replaced`). nvlink does not know it either.
    fn has_start(&self) -> bool {
        self.range[0] <= u32::MAX - SIZE
    }

    /// The range in code, for a range of Mercury addresses, as far as instructions begin
    /// there.
    fn places(&self, places: &Places) -> [Option<u64>; 2] {
        let [first, last] = self.range.map(u64::from);
        [places.last(first), places.own(last)]
    }
}

/// The functions of a table. `None` if it cannot be read.
fn functions(bytes: &[u8]) -> Option<Vec<Function<'_>>> {
    let mut reader = Reader { bytes, at: 0 };
    let mut functions = Vec::new();
    while reader.at < bytes.len() {
        let name = reader.name()?;
        let mut variables = Vec::new();
        for _ in 0..reader.number()? {
            reader.number()?;
            variables.push(Variable {
                name: reader.name()?,
                register: reader.number()?,
                at: reader.at,
                range: [reader.number()?, reader.number()?],
            });
        }
        functions.push(Function { name, variables });
    }
    Some(functions)
}

/// Writes ranges at their places.
fn write(bytes: &mut Cow<'_, [u8]>, ranges: &[(usize, [u32; 2])]) {
    for &(at, range) in ranges {
        for (word, value) in bytes.to_mut()[at..].chunks_mut(4).zip(range) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    /// A name and the zero behind it.
    fn name(&mut self) -> Option<&'b [u8]> {
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|&byte| byte == 0)?;
        self.at += length + 1;
        Some(&rest[..length])
    }

    fn number(&mut self) -> Option<u32> {
        let bytes = self.bytes.get(self.at..)?.first_chunk()?;
        self.at += bytes.len();
        Some(u32::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<u8> {
        let mut bytes = Vec::new();
        for name in ["gone", "kept"] {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0, 0]);
            bytes.extend_from_slice(b"%a\0\x02\0\0\x05");
            bytes.extend_from_slice(&[0x10, 0, 0, 0, 0x20, 0, 0, 0]);
        }
        bytes
    }

    #[test]
    fn variables_are_found_by_function() {
        let mut bytes = Cow::Owned(table());
        let read = functions(&bytes).unwrap();
        let names: Vec<&[u8]> = read.iter().map(|function| function.name).collect();
        assert_eq!(names, [b"gone", b"kept"]);
        let variable = &read[1].variables[0];
        assert_eq!(variable.name, b"%a");
        assert_eq!(variable.register, 0x0500_0002);
        assert_eq!(variable.range, [0x10, 0x20]);
        let at = variable.at;
        write(&mut bytes, &[(at, [0x30, 0x40])]);
        assert_eq!(bytes[at..], [0x30, 0, 0, 0, 0x40, 0, 0, 0]);
    }

    #[test]
    fn what_ends_too_early_is_not_read() {
        let bytes = table();
        assert!(functions(&bytes[..bytes.len() - 1]).is_none());
        assert!(functions(&bytes[..3]).is_none());
    }
}
