//! Sections of records and entries, and what is inside them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::cubin::{
    Attribute, CallGraph, CompatRecords, DeviceNote, InfoRecords, Note, Prototype,
    RelocationAction, ToolNote, UnifiedEntry, UnifiedIndex,
};

fuzz_target!(|data: &[u8]| {
    for record in InfoRecords::new(data).flatten() {
        assert_eq!(Attribute::decode(&record).encode(), record.payload);
    }
    CompatRecords::new(data).for_each(drop);
    for note in Note::parse_all(data).into_iter().flatten() {
        let _ = ToolNote::parse(note.description).map(|tool| tool.encode());
        let _ = DeviceNote::parse(note.description).map(DeviceNote::encode);
    }
    if let Ok(graph) = CallGraph::parse(data) {
        assert_eq!(CallGraph::parse(&graph.encode()), Ok(graph));
    }
    let _ = Prototype::parse_all(data).map(|entries| entries.for_each(drop));
    let _ = RelocationAction::parse_all(data);
    let _ = UnifiedEntry::parse_all(data);
    let _ = UnifiedIndex::parse("index", data.to_vec());
});
