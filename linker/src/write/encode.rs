//! Records and tables as bytes.

use crate::cubin::{
    CallGraph, Edge, Place, Prototype, Relocation as FileRelocation, Signature,
    Symbol as FileSymbol, UnifiedEntry, UnifiedTable,
};
use crate::finalize::{CallEdges, Finalized};
use crate::id::{PrototypeId, SymbolId};
use crate::layout::NullSymbol;
use crate::merge::{Form, InfoRecord, Merged, Payload, Relocation, Slot, Strays};
use crate::options::ImageKind;
use crate::tool_record::tool_record;

use super::numbering::SymbolNumbers;

/// The content of `.nv.rel.action`, which is always the same.
pub(super) const RELOC_ACTION: [u8; 16] =
    [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 5, 0x36];

/// Attribute records.
pub(super) fn records(records: &[InfoRecord<'_>], symbols: &SymbolNumbers) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_records(records));
    records_into(&mut bytes, records, symbols);
    bytes
}

/// Appends attribute records.
pub(super) fn records_into(
    bytes: &mut Vec<u8>,
    records: &[InfoRecord<'_>],
    symbols: &SymbolNumbers,
) {
    for record in records {
        record_into(bytes, record, symbols);
    }
}

/// The size of attribute records.
pub(super) fn size_of_records(records: &[InfoRecord<'_>]) -> usize {
    records.iter().map(size_of_record).sum()
}

/// The size of a record's head.
const RECORD_HEAD: usize = 4;

/// The size of a record with its padding.
fn size_of_record(record: &InfoRecord<'_>) -> usize {
    RECORD_HEAD + record.payload.size().next_multiple_of(4)
}

fn record_into(bytes: &mut Vec<u8>, record: &InfoRecord<'_>, symbols: &SymbolNumbers) {
    let end = bytes.len() + size_of_record(record);
    let [low, high] = head(&record.payload);
    bytes.extend([record.format.number(), record.code.0, low, high]);
    payload_into(bytes, &record.payload, symbols);
    bytes.resize(end, 0);
}

/// The last two bytes of the head: a value, or the size of what follows.
pub(super) fn head(payload: &Payload<'_>) -> [u8; 2] {
    match payload {
        Payload::Head(value) => *value,
        Payload::WithStrays(Strays {
            head: Some(head), ..
        }) => *head,
        Payload::Bytes(_) | Payload::Symbol(..) | Payload::WithStrays(_) | Payload::Symbols(_) => {
            // Those of inputs are not larger, and `finalize` checks the lists that it makes longer.
            let size = u16::try_from(payload.size());
            size.expect("finalize has refused what is larger")
                .to_le_bytes()
        }
    }
}

fn payload_into(bytes: &mut Vec<u8>, payload: &Payload<'_>, symbols: &SymbolNumbers) {
    let number = |symbol: &SymbolId| symbols.number[*symbol].to_le_bytes();
    match payload {
        Payload::Head(_) => {}
        Payload::Bytes(data) => bytes.extend_from_slice(data),
        Payload::Symbol(symbol, data) => {
            bytes.extend(number(symbol));
            bytes.extend_from_slice(data);
        }
        Payload::Symbols(list) => bytes.extend(list.iter().flat_map(number)),
        Payload::WithStrays(record) => {
            payload_into(bytes, &record.payload, symbols);
            bytes.extend(record.symbols.iter().flat_map(number));
        }
    }
}

/// The size of the relocation records of one form.
pub(super) fn size_of_relocations(kept: &[Relocation], form: Form) -> usize {
    let count = kept.iter().filter(|r| r.form == form).count();
    count * form.size()
}

/// Appends the relocation records of one form.
pub(super) fn relocations_into(
    bytes: &mut Vec<u8>,
    kept: &[Relocation],
    form: Form,
    symbols: &SymbolNumbers,
) {
    for relocation in kept.iter().filter(|r| r.form == form) {
        relocation_into(bytes, relocation, form, symbols);
    }
}

fn relocation_into(
    bytes: &mut Vec<u8>,
    relocation: &Relocation,
    form: Form,
    symbols: &SymbolNumbers,
) {
    let record = FileRelocation {
        offset: relocation.offset,
        symbol: symbols.number[relocation.symbol],
        kind: relocation.kind,
        addend: match form {
            Form::Rel | Form::Added => None,
            Form::Rela => Some(relocation.addend),
        },
    };
    record.encode(bytes);
}

/// Records of resolved relocations.
pub(super) fn resolved(resolved: &[Relocation], symbols: &SymbolNumbers) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(resolved.len() * Form::Rela.size());
    for relocation in resolved {
        relocation_into(&mut bytes, relocation, Form::Rela, symbols);
    }
    bytes
}

/// `.nv.callgraph`.
pub(super) fn call_graph(
    finalized: &Finalized<'_>,
    symbols: &SymbolNumbers,
    signature: impl Fn(PrototypeId) -> u32,
) -> Vec<u8> {
    let CallEdges {
        calls,
        taken,
        indirect_calls,
        references,
    } = &finalized.figures.call_graph;
    let edge = |&(from, to): &(SymbolId, SymbolId)| Edge {
        from: symbols.number[from],
        to: symbols.number[to],
    };
    let signed = |function: SymbolId, prototype: Option<PrototypeId>| Signature {
        function: symbols.number[function],
        prototype: prototype.map_or(0, &signature),
    };
    let indirect_calls = indirect_calls.iter();
    let graph = CallGraph {
        calls: calls.iter().map(edge).collect(),
        address_taken: taken.iter().map(|&(f, p)| signed(f, p)).collect(),
        indirect_calls: indirect_calls.map(|&(f, p)| signed(f, Some(p))).collect(),
        address_references: references.iter().map(edge).collect(),
    };
    graph.encode()
}

/// `.nv.prototype`.
pub(super) fn prototypes(
    finalized: &Finalized<'_>,
    symbols: &SymbolNumbers,
    signature: impl Fn(PrototypeId) -> u32,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &(function, prototype) in &finalized.figures.prototypes {
        let entry = Prototype {
            function: symbols.number[function],
            text: signature(prototype),
        };
        entry.encode(&mut bytes);
    }
    bytes
}

/// The entries of a table of unified functions or variables.
pub(super) fn unified(
    merged: &Merged<'_>,
    table: UnifiedTable,
    symbols: &SymbolNumbers,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for member in merged.unified.members(table) {
        let entry = UnifiedEntry {
            symbol: symbols.number[member.symbol],
            state: UnifiedEntry::GIVEN | UnifiedEntry::LINKED,
            offset: match member.slot {
                Slot::Indexed(offset) => offset,
                Slot::Merged => merged.symbols[member.symbol].value,
            },
            identity: member.identity,
        };
        entry.encode(&mut bytes);
    }
    bytes
}

/// A symbol table. Where its null symbol is missing, the section of the first one has the number `first_section`.
pub(super) fn symbols<'n>(
    null: NullSymbol,
    first_section: u32,
    mut entries: impl Iterator<Item = FileSymbol<'n>>,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((entries.size_hint().0 + 1) * FileSymbol::SIZE);
    let first = match null {
        NullSymbol::Written(value) => Some(FileSymbol {
            value,
            ..FileSymbol::NULL
        }),
        NullSymbol::Dropped => entries.next().map(|first| FileSymbol {
            place: Place::Section(first_section),
            ..first
        }),
    };
    for entry in first.into_iter().chain(entries) {
        entry.encode(&mut bytes);
    }
    bytes
}

/// Our own tool record, then, in executables, those of the inputs. Where there is none, a short one of our own: NVIDIA's tools
/// do not read a file with an empty note.
pub(super) fn tool_note(finalized: &Finalized<'_>, own: &[u8]) -> Vec<u8> {
    let merged = finalized.merged();
    let mut bytes = own.to_vec();
    let tools = match merged.image() {
        ImageKind::Executable => &merged.notes.tools[..],
        ImageKind::Relocatable(_) => &[],
    };
    for tool in tools {
        bytes.extend_from_slice(tool);
    }
    match bytes.is_empty() {
        true => tool_record("", ""),
        false => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cubin::{Format, InfoCode};
    use crate::id::{Id as _, IdVec, SymbolId};

    #[test]
    fn strays_come_behind_the_payload_and_count_for_the_size() {
        let symbols = SymbolNumbers {
            order: Vec::new(),
            locals: 0,
            first: 1,
            number: [5, 6].into_iter().collect(),
        };
        let list = [SymbolId::new(1), SymbolId::new(0)];
        let encoded = |payload| {
            let strays = Strays::new(payload, &list);
            let code = InfoCode::VRC_CTA_INIT_COUNT;
            let format = Format::Byte;
            let payload = Payload::WithStrays(&strays);
            let record = InfoRecord {
                format,
                code,
                payload,
            };
            let bytes = records(&[record], &symbols);
            assert_eq!(bytes[2..4], head(&payload));
            bytes
        };
        let strays = [6, 0, 0, 0, 5, 0, 0, 0];
        assert_eq!(encoded(Payload::Head([1, 0]))[2..4], [8, 0]);
        assert_eq!(encoded(Payload::Head([1, 0]))[4..], strays);
        assert_eq!(encoded(Payload::Bytes(b"1234"))[2..4], [12, 0]);
        assert_eq!(encoded(Payload::Bytes(b"1234"))[8..], strays);
    }

    #[test]
    fn records_are_the_same_wherever_they_stand() {
        let symbols = SymbolNumbers {
            order: Vec::new(),
            locals: 0,
            first: 1,
            number: IdVec::new(),
        };
        let record = |format, payload| InfoRecord {
            format,
            code: InfoCode::EXTERNS,
            payload,
        };
        let list = [
            record(Format::Sized, Payload::Bytes(b"12345")),
            record(Format::Half, Payload::Head([1, 2])),
        ];
        let expected = records(&list, &symbols);
        assert_eq!(expected.len(), size_of_records(&list));
        for before in 0..4 {
            let mut bytes = vec![7; before];
            records_into(&mut bytes, &list, &symbols);
            assert_eq!(bytes[before..], expected);
        }
    }
}
