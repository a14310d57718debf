//! The native frames without those of functions that are not in the link, and with what their Mercury twins say.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::relocation::RelocationType;
use crate::error::ParseError;
use crate::id::SymbolId;
use crate::layout::LaidOut;
use crate::merge::{Content, NativeContent, Relocation, Section};

use super::super::Patched;
use super::super::expanded::Places;
use super::instructions::{Empty, Instructions, NATIVE_UNIT, NOTHING};
use super::{ADDRESS, CODE_UNIT, Entry, Frames, LENGTH_FIELD, SIZE};

/// The part of the section that an entry is in, the function that it describes, and which of the part's entries for that
/// function it is, counted from 1.
type Described = (usize, SymbolId, usize);

impl Frames {
    /// The section without the entries of functions that are not in the link.
    /// `mercury` is the Mercury twin.
    pub(in crate::relocate) fn without_removed<'d>(
        &self,
        laid_out: &LaidOut<'_>,
        section: &Section<'_>,
        native: &NativeContent<'_>,
        mercury: &[u8],
        patched: Patched<'_>,
    ) -> Result<Patched<'d>, ParseError> {
        let known = Known::new(self, laid_out, section, native, mercury)?;
        let slots = &laid_out.merged().unified.native_slots;
        let mut output = Output::with_room(patched.bytes.len());
        let mut starts = Vec::with_capacity(self.entries.len());
        let mut common: Option<(usize, &Entry)> = None;
        // A function whose code has another name first is described by that, and one inside a kernel by the kernel's
        // and a place.
        let later_names = laid_out.pruned.later_names().into_iter();
        let mut is_described: FxHashSet<(SymbolId, i64)> =
            later_names.map(|name| (name, 0)).collect();
        for (index, entry) in self.entries.iter().enumerate() {
            let function = known.functions[index];
            if entry.is_common {
                common = Some((index, entry));
                starts.push(None);
                continue;
            }
            if function == Function::Gone {
                common = None;
                starts.push(None);
                continue;
            }
            if let Some((index, common)) = common.take() {
                output.add_common(&patched.bytes[common.start..common.end]);
                starts[index] = Some(output.common);
            }
            let symbol = match function {
                Function::Live(symbol, _) => Some(symbol),
                Function::Unknown | Function::Gone => None,
            };
            let is_first = match function {
                Function::Live(symbol, place) => is_described.insert((symbol, place)),
                Function::Unknown | Function::Gone => true,
            };
            // Of slots nvlink finds the machine code of the first alone.
            let slot = symbol.and_then(|symbol| slots.get(&symbol));
            let is_found = slot.is_none_or(|slot| slot.is_own || slot.place == 0);
            let start = match is_first && is_found {
                true => known.describe(index, symbol, &patched.bytes, &mut output),
                false => output.add_size(known.mercury.size(known.twins[index])),
            };
            if let Some(slot) = slot.filter(|_| is_found) {
                output.set_size(start, slot.described);
            }
            starts.push(Some(start));
        }
        Ok(Patched {
            bytes: Cow::Owned(output.bytes),
            kept: self.moved(patched.kept, &starts),
            resolved: patched.resolved,
        })
    }

    /// Relocations of entries that have new starts; those of others go.
    fn moved(&self, mut relocations: Vec<Relocation>, starts: &[Option<usize>]) -> Vec<Relocation> {
        relocations.retain_mut(|relocation| {
            let ends_before = |entry: &Entry| entry.end as u64 <= relocation.offset;
            let index = self.entries.partition_point(ends_before);
            let Some(Some(start)) = starts.get(index) else {
                return false;
            };
            relocation.offset -= self.entries[index].start as u64;
            relocation.offset += *start as u64;
            true
        });
        relocations
    }

    /// What each entry describes, and which description of that it is in its input.
    fn described(
        &self,
        content: &Content<'_>,
        relocations: &[Relocation],
    ) -> Vec<Option<Described>> {
        let functions: FxHashMap<u64, SymbolId> =
            relocations.iter().map(|r| (r.offset, r.symbol)).collect();
        let mut counts = FxHashMap::default();
        let described = self.entries.iter().map(|entry| {
            let start = entry.start as u64;
            let symbol = *functions
                .get(&(start + ADDRESS))
                .filter(|_| !entry.is_common)?;
            let part = content
                .contributions
                .partition_point(|part| part.offset <= start);
            let count: &mut usize = counts.entry((part, symbol)).or_default();
            *count += 1;
            Some((part, symbol, *count))
        });
        described.collect()
    }

    /// What each entry describes in the link.
    fn functions(&self, laid_out: &LaidOut<'_>, relocations: &[Relocation]) -> Vec<Function> {
        let symbols = &laid_out.merged().symbols;
        let live = &laid_out.pruned.live.symbols;
        // An object of `nvlink -r` may describe code by a name that is now an alias (case `alias_called_before`).
        let first_name = |symbol| laid_out.merged().first_name(symbol);
        let functions: FxHashMap<u64, &Relocation> = relocations
            .iter()
            .filter(|r| symbols[r.symbol].function.is_some())
            .filter(|r| r.kind == RelocationType::R_CUDA_64.0)
            .map(|r| (r.offset, r))
            .collect();
        let function = |entry: &Entry| match functions.get(&(entry.start as u64 + ADDRESS)) {
            Some(_) if entry.is_common => Function::Unknown,
            Some(r) if r.discarded || !live[r.symbol] => Function::Gone,
            Some(r) => Function::Live(first_name(r.symbol), r.addend),
            None => Function::Unknown,
        };
        self.entries.iter().map(function).collect()
    }
}

/// What an entry describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    /// A function in use, or a place at this distance from its start.
    Live(SymbolId, i64),
    /// A dropped function, or a replaced definition.
    Gone,
    /// None: it has no relocation, or is a common entry.
    Unknown,
}

/// What is known of native entries before any is written.
struct Known<'a, 'd> {
    frames: &'a Frames,
    laid_out: &'a LaidOut<'d>,
    mercury: MercuryFrames<'a>,
    /// What each entry describes.
    functions: Vec<Function>,
    /// What each entry describes, in terms of the inputs.
    described: Vec<Option<Described>>,
    /// The Mercury entry that belongs to each.
    twins: Vec<usize>,
    /// All entries of a function: weak ones that another definition replaced are described twice.
    entries_of: FxHashMap<SymbolId, Vec<usize>>,
}

impl<'a, 'd> Known<'a, 'd> {
    fn new(
        frames: &'a Frames,
        laid_out: &'a LaidOut<'d>,
        section: &Section<'_>,
        native: &NativeContent<'_>,
        mercury: &'a [u8],
    ) -> Result<Self, ParseError> {
        let mercury = MercuryFrames::parse(mercury)?;
        let described = frames.described(&native.content, &native.relocations);
        let others = mercury
            .frames
            .described(&section.content, &section.relocations);
        let functions = frames.functions(laid_out, &native.relocations);
        let mut entries_of: FxHashMap<SymbolId, Vec<usize>> = FxHashMap::default();
        for (index, function) in functions.iter().enumerate() {
            if let Function::Live(symbol, 0) = *function {
                entries_of.entry(symbol).or_default().push(index);
            }
        }
        Ok(Self {
            frames,
            laid_out,
            mercury,
            functions,
            twins: twins(&described, &others),
            described,
            entries_of,
        })
    }

    /// Writes the entry that describes the function of this one, as it is in use. Says where.
    fn describe(
        &self,
        index: usize,
        symbol: Option<SymbolId>,
        bytes: &[u8],
        output: &mut Output,
    ) -> usize {
        let all = symbol.and_then(|symbol| self.entries_of.get(&symbol));
        let all = all.filter(|all| all.contains(&index));
        let (used, replaced) = match all.and_then(|all| all.split_last()) {
            Some((&used, replaced)) => (used, replaced),
            None => (index, &[][..]),
        };
        let part_of = |index: usize| self.described[index].map(|(part, ..)| part);
        // An object of `nvlink -r` describes what is in use first.
        let first = all.and_then(|all| all.iter().find(|&&i| part_of(i) == part_of(used)));
        let entry = &self.frames.entries[first.copied().unwrap_or(used)];
        let in_use = &bytes[entry.start..entry.end];
        let is_made = all.is_some() && is_by_size(in_use);
        let symbol = symbol.filter(|_| !replaced.is_empty() || is_made);
        let places = symbol.and_then(|symbol| Places::of(self.laid_out.merged(), symbol));
        let made = places.and_then(|places| match is_made {
            true => self.mercury.made(in_use, self.twins[used], &places),
            false => {
                let replaced: Vec<usize> = replaced.iter().map(|&i| self.twins[i]).collect();
                let used = self.twins[used];
                self.mercury.joined(in_use, used, &replaced, &places)
            }
        });
        let start = output.add(made.as_deref().unwrap_or(in_use));
        if is_made && made.is_some() {
            output.set_unit(NATIVE_UNIT as u8);
        }
        start
    }
}

/// The section under construction.
struct Output {
    bytes: Vec<u8>,
    /// Where the last common entry starts.
    common: usize,
}

impl Output {
    fn with_room(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            common: 0,
        }
    }

    fn add_common(&mut self, entry: &[u8]) {
        self.common = self.bytes.len();
        self.bytes.extend_from_slice(entry);
    }

    /// Adds an entry that refers to the last common one. Says where it starts.
    fn add(&mut self, entry: &[u8]) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry);
        let common = start + LENGTH_FIELD;
        self.bytes[common..common + 8].copy_from_slice(&(self.common as u64).to_le_bytes());
        start
    }

    /// Adds what nvlink writes the second time it describes a function: its size in
    /// Mercury code and nothing else (case `weak_registers`).
    fn add_size(&mut self, size: u64) -> usize {
        const LENGTH: u64 = 28;
        let mut entry = [0; 40];
        entry[..4].fill(0xff);
        entry[4..LENGTH_FIELD].copy_from_slice(&LENGTH.to_le_bytes());
        entry[SIZE..SIZE + 8].copy_from_slice(&size.to_le_bytes());
        let start = self.add(&entry);
        // Mercury code counts in bytes.
        self.set_unit(1);
        start
    }

    /// Says how long the function is that an entry describes, if it says it.
    fn set_size(&mut self, entry: usize, size: u64) {
        let place = self.bytes.get_mut(entry + SIZE..);
        if let Some(place) = place.and_then(<[u8]>::first_chunk_mut) {
            *place = size.to_le_bytes();
        }
    }

    /// Says in how many bytes the last common entry counts.
    fn set_unit(&mut self, unit: u8) {
        if let Some(place) = self.bytes.get_mut(self.common + CODE_UNIT) {
            *place = unit;
        }
    }
}

/// The entries of `others` that describe the same code. Inputs made with `-r` have more of them than of ours: those
/// of code that another definition replaced, too (case `relocatable_weak`).
fn twins(own: &[Option<Described>], others: &[Option<Described>]) -> Vec<usize> {
    let places = others.iter().enumerate();
    let places: FxHashMap<&Described, usize> =
        places.filter_map(|(i, d)| Some((d.as_ref()?, i))).collect();
    let twin = |(index, described): (usize, &Option<Described>)| {
        described
            .as_ref()
            .and_then(|d| places.get(d))
            .copied()
            .unwrap_or(index)
    };
    own.iter().enumerate().map(twin).collect()
}

/// The frames of the Mercury world, which count bytes of expanded code.
struct MercuryFrames<'m> {
    bytes: &'m [u8],
    frames: Frames,
}

impl<'m> MercuryFrames<'m> {
    fn parse(bytes: &'m [u8]) -> Result<Self, ParseError> {
        let frames = Frames::parse(bytes)?;
        Ok(Self { bytes, frames })
    }

    /// The part of an entry from the size of the function on.
    fn description(&self, entry: usize) -> Option<(u64, &'m [u8])> {
        let entry = self.frames.entries.get(entry)?;
        let description = self.bytes.get(entry.start + SIZE..entry.end)?;
        let (size, instructions) = description.split_first_chunk()?;
        Some((u64::from_le_bytes(*size), instructions))
    }

    /// How long the function is that an entry describes.
    fn size(&self, entry: usize) -> u64 {
        self.description(entry).map_or(0, |(size, _)| size)
    }

    fn instructions(&self, entry: usize) -> Option<Instructions> {
        Instructions::parse(self.description(entry)?.1, 1, Empty::Dropped)
    }

    /// An entry with what the entries of replaced definitions say of addresses
    /// where an instruction of the code in use begins, and of which its own says
    /// nothing (case `lineinfo_replaced`). `None` where some are not understood.
    fn joined(
        &self,
        entry: &[u8],
        used: usize,
        replaced: &[usize],
        places: &Places,
    ) -> Option<Vec<u8>> {
        let (head, instructions) = entry.split_at_checked(SIZE + 8)?;
        let own = self.instructions(used)?;
        let mut all = Instructions::parse(instructions, NATIVE_UNIT, Empty::Kept)?;
        let mut is_same = true;
        for &index in replaced {
            for (address, instructions) in self.instructions(index)?.0 {
                if let Some(native) = places.native(address)
                    && !own.0.contains_key(&address)
                {
                    all.0.insert(native, instructions);
                    is_same = false;
                }
            }
        }
        (!is_same).then(|| all.behind(head))
    }

    /// An entry that an earlier link made of a later name for the code, which is
    /// the only one here (case `alias`). `None` where it is not understood.
    fn made(&self, entry: &[u8], used: usize, places: &Places) -> Option<Vec<u8>> {
        let mut head = entry.get(..SIZE + 8)?.to_vec();
        head[SIZE..].copy_from_slice(&places.size.to_le_bytes());
        let own = self.instructions(used)?.0.into_iter();
        let own = own.map(|(address, instructions)| Some((places.native(address)?, instructions)));
        Some(Instructions(own.collect::<Option<_>>()?).behind(&head))
    }
}

/// Whether an entry says nothing but a size.
fn is_by_size(entry: &[u8]) -> bool {
    let instructions = entry.get(SIZE + 8..).unwrap_or_default();
    instructions.iter().all(|&byte| byte == NOTHING)
}
