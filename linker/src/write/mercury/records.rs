//! Attribute records of native functions in a Mercury image.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cubin::{Attribute, Format, InfoCode, InfoRecord as FileRecord};
use crate::finalize::Finalized;
use crate::id::FunctionId;
use crate::merge::{InfoRecord, Merged, ParameterBank, Payload};
use crate::options::Behaviour;
use crate::relocate::{Moves, barrier_places, native_places};

use super::super::encode;
use super::super::numbering::SymbolNumbers;
use super::Sources;

/// The records of the module: the same in both worlds, but for the stacks of
/// slots of unified functions.
pub(super) fn native_module(finalized: &Finalized<'_>, symbols: &SymbolNumbers) -> Vec<u8> {
    let slots = &finalized.merged().unified.native_slots;
    let shares_stack = |record: &&InfoRecord<'_>| {
        let slot = record.subject().and_then(|symbol| slots.get(&symbol));
        record.code == InfoCode::MIN_STACK_SIZE && slot.is_some_and(|slot| !slot.is_own)
    };
    let records = &finalized.figures.module_records;
    let frames = frames_of_whole_programs(finalized);
    // In machine code the slots are one function, of which the last that comes tells.
    let last = records
        .iter()
        .rfind(shares_stack)
        .map(|record| match record.payload {
            Payload::WithStrays(record) => record.payload,
            payload => payload,
        });
    let records = records.iter().map(|record| {
        let mut own = *record;
        if let (Payload::Symbol(_, figure), Some(Payload::Symbol(_, shared))) =
            (&mut own.payload, last)
            && shares_stack(&record)
        {
            *figure = shared;
        }
        if let Payload::Symbol(symbol, figure) = &mut own.payload
            && own.code == InfoCode::FRAME_SIZE
            && let Some(shared) = finalized
                .merged()
                .owner(*symbol)
                .and_then(|o| frames.get(&o))
        {
            *figure = shared;
        }
        own
    });
    encode::records(&records.collect::<Vec<_>>(), symbols)
}

/// Of kernels with functions inside, whose machine code is one, nvlink says of all that they have the frame of the last
/// one that comes, be it the kernel itself (case `whole_program_functions`).
fn frames_of_whole_programs<'f>(finalized: &'f Finalized<'_>) -> FxHashMap<FunctionId, &'f [u8]> {
    let merged = finalized.merged();
    if finalized.relocated.behaviour == Behaviour::Own {
        return FxHashMap::default();
    }
    let records = finalized.figures.module_records.iter();
    let frames = || {
        records.clone().filter_map(|record| match record.payload {
            Payload::Symbol(symbol, frame) if record.code == InfoCode::FRAME_SIZE => {
                Some((symbol, frame))
            }
            _ => None,
        })
    };
    let inside = frames().filter_map(|(symbol, _)| merged.surrounding(symbol));
    let kernels: FxHashSet<FunctionId> = inside.collect();
    frames()
        .filter_map(|(symbol, frame)| Some((merged.owner(symbol)?, frame)))
        .filter(|(owner, _)| kernels.contains(owner))
        .collect()
}

/// The native records of a function: those of the Mercury world, with the figures replaced that depend on the native code,
/// then those that only the native world has.
pub(super) fn native(sources: Sources<'_, '_>, function: FunctionId) -> Vec<u8> {
    let mut bytes = Vec::new();
    let is_shared = encode_shared(sources, function, &mut bytes);
    encode_own(sources, function, &is_shared, &mut bytes);
    bytes
}

/// Writes the records that both worlds have. Returns which codes these are.
fn encode_shared(
    sources: Sources<'_, '_>,
    function: FunctionId,
    bytes: &mut Vec<u8>,
) -> [bool; CODES] {
    let Sources {
        finalized, symbols, ..
    } = sources;
    let merged = sources.merged();
    let row = &merged.functions[function];
    let shared = &finalized.figures.function_records[function];
    // In machine code all slots are one function, which has the count of the last one (case `unified_records`).
    let is_count = |record: &&InfoRecord<'_>| record.code == InfoCode::VRC_CTA_INIT_COUNT;
    let takes_last = row.is_stub && finalized.relocated.behaviour == Behaviour::Nvlink;
    let last_count = shared.iter().rfind(is_count).filter(|_| takes_last);
    let last_count = last_count.map(|record| encode::head(&record.payload));
    let mut twins = Twins::new(row.native_records());
    let mut is_shared = [false; CODES];
    for record in shared.iter() {
        is_shared[usize::from(record.code.0)] = true;
        // Options for a later run of the finalizer have no native meaning.
        if record.code == InfoCode::MERCURY_FINALIZER_OPTIONS {
            continue;
        }
        let twin = match is_about_the_program(record) || !names_places(record.code) {
            true => None,
            false => twins.next(record.code),
        };
        let placed = twin.and_then(|twin| placed_here(merged, function, record, twin));
        let placed = placed.or_else(|| placed_at_barriers(merged, function, twin?));
        let twin = match (&placed, twin) {
            (Some(payload), Some(twin)) => FileRecord::sized(twin.code, payload),
            (_, twin) => twin.copied(),
        };
        if let Some(twin) = twin {
            match finalized.relocated.moves.get(&function) {
                Some(moves) => encode_moved(&twin, moves, bytes),
                None => twin.encode(bytes),
            }
            continue;
        }
        let mut record = *record;
        let strays;
        if let Some(count) = last_count.filter(|_| is_count(&&record)) {
            strays = record.payload.with_head(count);
            record.payload = Payload::WithStrays(&strays);
        }
        encode::records_into(bytes, &[record], symbols);
    }
    is_shared
}

/// Writes the records that only the native world has.
fn encode_own(
    sources: Sources<'_, '_>,
    function: FunctionId,
    is_shared: &[bool; CODES],
    bytes: &mut Vec<u8>,
) {
    let merged = sources.merged();
    let row = &merged.functions[function];
    let behaviour = sources.finalized.relocated.behaviour;
    for record in row.native_records() {
        if is_shared[usize::from(record.code.0)] || is_left_out(record.code, behaviour) {
            continue;
        }
        if record.code != InfoCode::PARAM_CBANK {
            record.encode(bytes);
            continue;
        }
        let number = parameters_symbol(sources, function);
        let mut payload = record.payload.to_vec();
        if let Some(word) = payload.first_chunk_mut() {
            *word = number.to_le_bytes();
        }
        if let Some(record) = FileRecord::sized(record.code, &payload) {
            record.encode(bytes);
        }
    }
    // The banks with the handles of textures and surfaces are recorded anew.
    if let Some(ParameterBank::Twin(bank)) = row.parameters()
        && !merged.sections[bank].relocations.is_empty()
    {
        for code in [
            InfoCode::BINDLESS_TEXTURE_BANK,
            InfoCode::BINDLESS_SURFACE_BANK,
        ] {
            FileRecord::byte(code, 0).encode(bytes);
        }
    }
}

/// The number of the symbol of a kernel's parameter bank.
fn parameters_symbol(sources: Sources<'_, '_>, function: FunctionId) -> u32 {
    let Sources {
        layout, symbols, ..
    } = sources;
    let merged = sources.merged();
    match merged.functions[function].parameters() {
        Some(ParameterBank::Twin(bank)) => symbols.number[merged.sections[bank].symbol],
        Some(ParameterBank::Native(_)) | None => layout
            .parameters_index(function)
            .map_or(0, |index| symbols.end() + index as u32),
    }
}

/// How many codes there are.
const CODES: usize = 1 << 8;

/// Records of a list by their codes, each the last one first: the merged list
/// is that of the input reversed.
struct Twins<'r, 'd> {
    records: &'r [FileRecord<'d>],
    /// For each code one more than the index of its last record, or 0.
    last: [usize; CODES],
    /// For each record the same about the one of its code before it.
    before: Vec<usize>,
}

impl<'r, 'd> Twins<'r, 'd> {
    fn new(records: &'r [FileRecord<'d>]) -> Self {
        let mut last = [0; CODES];
        let before = records.iter().enumerate().map(|(index, record)| {
            std::mem::replace(&mut last[usize::from(record.code.0)], index + 1)
        });
        let before = before.collect();
        Self {
            records,
            last,
            before,
        }
    }

    /// The last record of a code that was not asked for yet.
    fn next(&mut self, code: InfoCode) -> Option<&'r FileRecord<'d>> {
        let last = &mut self.last[usize::from(code.0)];
        let index = last.checked_sub(1)?;
        *last = self.before[index];
        Some(&self.records[index])
    }
}

/// The places in the code of a function that its Mercury record names, where the record is another function's of the
/// name (case `static_code_again`).
fn placed_here(
    merged: &Merged<'_>,
    function: FunctionId,
    record: &InfoRecord<'_>,
    twin: &FileRecord<'_>,
) -> Option<Vec<u8>> {
    let native = merged.functions[function].native.as_ref()?;
    let Payload::Bytes(places) = record.payload else {
        return None;
    };
    let names_places = matches!(Attribute::decode(twin), Attribute::Offsets(_));
    if !names_places || !native.is_described_elsewhere {
        return None;
    }
    let places = places.as_chunks().0.iter();
    let placed = native_places(
        merged,
        function,
        places.map(|word| u32::from_le_bytes(*word)),
    )?;
    Some(placed.into_iter().flat_map(u32::to_le_bytes).collect())
}

/// The places of operations of cooperative groups, which CUDA 12 records in another way.
fn placed_at_barriers(
    merged: &Merged<'_>,
    function: FunctionId,
    twin: &FileRecord<'_>,
) -> Option<Vec<u8>> {
    if twin.code != InfoCode::COOP_GROUP_INSTR_OFFSETS {
        return None;
    }
    let placed = barrier_places(merged, function, twin.words())?;
    Some(placed.into_iter().flat_map(u32::to_le_bytes).collect())
}

/// Whether a record that only the native world has is dropped. nvlink reads no native records, so all are but those that it
/// makes itself (case `idle_before_meeting`). Otherwise records are dropped that the link has removed from the Mercury
/// world: those that only kernels have in an image, or nothing.
fn is_left_out(code: InfoCode, behaviour: Behaviour) -> bool {
    match behaviour {
        Behaviour::Nvlink => !matches!(
            code,
            InfoCode::PARAM_CBANK | InfoCode::CBANK_PARAM_SIZE | InfoCode::SW_WAR
        ),
        Behaviour::Own => matches!(
            code,
            InfoCode::EXTERNS | InfoCode::MAX_STACK_SIZE | InfoCode::AT_ENTRY_FRAGMENTS
        ),
    }
}

/// Writes a record that follows code that moved.
fn encode_moved(record: &FileRecord<'_>, moves: &Moves, bytes: &mut Vec<u8>) {
    let to = |word: u32| moves.of(word.into()) as u32;
    // In each group of `words` words, that of index `offset` is a place in the code.
    let groups = |words: usize, offset: usize| {
        let words = record.words().enumerate().map(|(index, word)| {
            let is_offset = index % words == offset;
            if is_offset { to(word) } else { word }
        });
        words.flat_map(u32::to_le_bytes).collect()
    };
    let payload = match (Attribute::decode(record), record.code) {
        (Attribute::Offsets(offsets), _) => {
            Attribute::Offsets(offsets.into_iter().map(to).collect()).encode()
        }
        (Attribute::IndirectBranches(mut branches), _) => {
            for branch in &mut branches {
                branch.offset = to(branch.offset);
                for target in &mut branch.targets {
                    *target = moves.entry((*target).into()) as u32;
                }
            }
            Attribute::IndirectBranches(branches).encode()
        }
        // An offset and what is done to the barrier there.
        (_, InfoCode::MBARRIER_INSTR_OFFSETS) => groups(4, 0),
        // An offset and which bytes of the load there nobody uses.
        (_, InfoCode::UNUSED_LOAD_BYTE_OFFSET) => groups(2, 0),
        // An offset and the registers of the atomic operation that begins or ends there.
        (_, InfoCode::ATOM16_EMUL_INSTR_REG_MAP) => groups(2, 0),
        // An offset, registers and a mask of the instruction before the pair that counts threads.
        (_, InfoCode::INSTR_REG_MAP) => groups(3, 0),
        (_, InfoCode::ANNOTATIONS) => annotations(record, to),
        _ => return record.encode(bytes),
    };
    let moved = FileRecord::sized(record.code, &payload);
    moved.unwrap_or(*record).encode(bytes);
}

/// Moves the places in `ANNOTATIONS`. Each annotation is a word for its kind, the offset of an instruction unless it is
/// about the function, and a text unless it is about a spilled register. The rest of the record after an unknown kind stays
/// as it is.
fn annotations(record: &FileRecord<'_>, to: impl Fn(u32) -> u32) -> Vec<u8> {
    const SPILLED: u32 = 1;
    const OF_INSTRUCTION: u32 = 2;
    const OF_FUNCTION: u32 = 3;
    let mut words: Vec<u32> = record.words().collect();
    let mut at = 0;
    while let Some(&kind) = words.get(at) {
        let text = match kind {
            SPILLED => None,
            OF_INSTRUCTION => Some(at + 2),
            OF_FUNCTION => Some(at + 1),
            _ => break,
        };
        if kind != OF_FUNCTION
            && let Some(offset) = words.get_mut(at + 1)
        {
            *offset = to(*offset);
        }
        at = match text {
            None => at + 2,
            Some(length) => match words.get(length) {
                Some(&bytes) => length + 1 + (bytes as usize).div_ceil(4),
                None => break,
            },
        };
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Whether records of this code name places in code, so that the native ones differ. All others are made of the Mercury
/// records (case `odd_records`).
fn names_places(code: InfoCode) -> bool {
    code.lists_offsets()
        || matches!(
            code,
            InfoCode::INDIRECT_BRANCH_TARGETS
                | InfoCode::MBARRIER_INSTR_OFFSETS
                | InfoCode::UNUSED_LOAD_BYTE_OFFSET
                | InfoCode::ATOM16_EMUL_INSTR_REG_MAP
                | InfoCode::INSTR_REG_MAP
                | InfoCode::ANNOTATIONS
                | InfoCode::PARAM_CBANK
        )
}

/// Whether the link computes the record or rewrites symbols in it, so that
/// the native input does not know the value.
fn is_about_the_program(record: &InfoRecord<'_>) -> bool {
    matches!(
        record.payload,
        Payload::Symbol(..) | Payload::WithStrays(_) | Payload::Symbols(_)
    ) || record.format != Format::Sized
        || record.code == InfoCode::CRS_STACK_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_come_the_last_one_first() {
        let codes = [InfoCode::EXTERNS, InfoCode::REGCOUNT, InfoCode::EXTERNS];
        let records = codes.into_iter().zip(0..);
        let records = records.map(|(code, number)| FileRecord::byte(code, number));
        let records: Vec<_> = records.collect();
        let mut twins = Twins::new(&records);
        let mut next = |code| twins.next(code).map(|record| record.value[0]);
        assert_eq!(next(InfoCode::EXTERNS), Some(2));
        assert_eq!(next(InfoCode::REGCOUNT), Some(1));
        assert_eq!(next(InfoCode::EXTERNS), Some(0));
        assert_eq!(next(InfoCode::EXTERNS), None);
        assert_eq!(next(InfoCode::FRAME_SIZE), None);
    }
}
