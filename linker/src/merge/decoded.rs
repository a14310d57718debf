//! Attribute records and relocations of an object, decoded before its turn.
//!
//! To wait for their bytes takes a third of the merge, which goes object by
//! object. Other threads decode those of the next objects meanwhile.

use std::ops::Range;

use crate::cubin::{InfoRecord, InfoRecords, Relocation};
use crate::error::ParseError;
use crate::read::{Object, Role};

use super::notes::Origin;

/// What the sections of an object list.
pub(super) struct Decoded<'d> {
    records: Vec<Record<'d>>,
    relocations: Vec<Relocation>,
    /// What each section lists, by its number; nothing of sections that hold
    /// something else.
    lists: Vec<List>,
    /// What compiled the object.
    pub(super) origin: Origin,
}

/// An attribute record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'d> {
    pub(super) record: InfoRecord<'d>,
    /// The number of the symbol that it is about.
    pub(super) symbol: Option<u32>,
}

/// Part of the records or relocations.
#[derive(Debug, Clone, Default)]
struct List {
    range: Range<u32>,
    /// What is wrong behind it.
    damage: Option<ParseError>,
}

impl<'d> Decoded<'d> {
    pub(super) fn new(object: &Object<'d>) -> Self {
        let mut decoded = Self {
            records: Vec::new(),
            relocations: Vec::new(),
            lists: vec![List::default(); object.sections.len()],
            origin: Origin::of(object),
        };
        for (section, list) in object.sections.iter().zip(&mut decoded.lists) {
            let result = match section.role {
                Role::Info => {
                    list.range.start = decoded.records.len() as u32;
                    let result = add_records(&mut decoded.records, section.data);
                    list.range.end = decoded.records.len() as u32;
                    result
                }
                Role::Rel | Role::Rela => {
                    list.range.start = decoded.relocations.len() as u32;
                    let relocations = object.relocations(section);
                    let result = relocations.map(|list| decoded.relocations.extend(list));
                    list.range.end = decoded.relocations.len() as u32;
                    result
                }
                _ => continue,
            };
            list.damage = result.err();
        }
        decoded
    }

    /// The attribute records of a section, and what is wrong behind them.
    pub(super) fn records(&self, section: usize) -> (&[Record<'d>], Result<(), ParseError>) {
        let list = &self.lists[section];
        (&self.records[list.places()], list.result())
    }

    /// The relocations of a section.
    pub(super) fn relocations(&self, section: usize) -> Result<&[Relocation], ParseError> {
        let list = &self.lists[section];
        list.result()?;
        Ok(&self.relocations[list.places()])
    }
}

impl List {
    fn places(&self) -> Range<usize> {
        self.range.start as usize..self.range.end as usize
    }

    fn result(&self) -> Result<(), ParseError> {
        self.damage.clone().map_or(Ok(()), Err)
    }
}

fn add_records<'d>(records: &mut Vec<Record<'d>>, data: &'d [u8]) -> Result<(), ParseError> {
    for record in InfoRecords::new(data) {
        let record = record?;
        let symbol = record.symbol();
        records.push(Record { record, symbol });
    }
    Ok(())
}
