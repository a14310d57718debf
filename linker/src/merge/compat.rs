//! `.nv.compat`: one list of attributes out of many.

use crate::arch::{Sm, Suffix};
use crate::cubin::{CompatCode, CompatRecords, Format};
use crate::error::ParseError;

/// One attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompatRecord {
    pub(crate) format: Format,
    pub(crate) attribute: CompatCode,
    pub(crate) value: Vec<u8>,
}

/// What an input with attributes means that lacks one of these (case
/// `relocatable_empty`).
const DEFAULTS: [(CompatCode, Format, [u8; 2]); 5] = [
    (CompatCode::ISA_CLASS, Format::Byte, [0, 0]),
    (CompatCode::INST_TENSORMAP_V1, Format::Byte, [3, 0]),
    (CompatCode::INST_TCGEN05_MMA, Format::Byte, [0, 0]),
    (
        CompatCode::ENABLE_OPPORTUNISTIC_FINALIZATION,
        Format::Byte,
        [1, 0],
    ),
    (CompatCode::MERCURY_ISA_VERSION, Format::Half, [0, 1]),
];

/// The merged attributes, in the order of their first appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compat {
    pub(crate) records: Vec<CompatRecord>,
    merged_one: bool,
}

impl Compat {
    /// What a link without inputs writes.
    pub(super) fn new(target: Sm) -> Self {
        let mut records = vec![CompatRecord {
            format: Format::Byte,
            attribute: CompatCode::CUDA_ACCELERATOR_TARGET,
            value: vec![u8::from(target.suffix == Some(Suffix::A)), 0],
        }];
        if target.has_mercury() {
            records.push(CompatRecord {
                format: Format::Sized,
                attribute: CompatCode::CAN_FASTPATH_FINALIZE,
                value: vec![0; 8],
            });
        }
        Self {
            records,
            merged_one: false,
        }
    }

    /// Merges the attributes of one input. Says whether it names the class of
    /// its instructions: what does not runs on one processor only.
    pub(super) fn merge(&mut self, data: &[u8], target: Sm) -> Result<bool, ParseError> {
        let first = !std::mem::replace(&mut self.merged_one, true);
        let mut missing = DEFAULTS.to_vec();
        for record in CompatRecords::new(data) {
            let record = record?;
            let attribute = record.code;
            missing.retain(|(code, ..)| *code != attribute);
            if attribute == CompatCode::CAN_FASTPATH_FINALIZE && !target.has_mercury() {
                continue;
            }
            let value = if record.format == Format::Sized {
                record.payload
            } else {
                &record.value[..]
            };
            self.merge_record(attribute, record.format, value);
        }
        for &(attribute, format, value) in &missing {
            self.merge_record(attribute, format, &value);
        }
        if first
            && let Some(record) = self
                .records
                .iter_mut()
                .find(|r| r.attribute == CompatCode::CUDA_ACCELERATOR_TARGET)
        {
            record.value[0] = u8::from(target.suffix == Some(Suffix::A));
        }
        let has_class = |(code, ..): &(CompatCode, Format, [u8; 2])| *code != CompatCode::ISA_CLASS;
        Ok(missing.iter().all(has_class))
    }

    fn merge_record(&mut self, attribute: CompatCode, format: Format, value: &[u8]) {
        if let Some(merged) = self.records.iter_mut().find(|r| r.attribute == attribute) {
            merge_value(attribute, &mut merged.value, value);
            return;
        }
        // What the link computes stays last.
        let is_last = |record: &CompatRecord| record.attribute == CompatCode::CAN_FASTPATH_FINALIZE;
        let end = self.records.len() - usize::from(self.records.last().is_some_and(is_last));
        let record = CompatRecord {
            format,
            attribute,
            value: value.to_vec(),
        };
        self.records.insert(end, record);
    }

    /// The section's bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in &self.records {
            bytes.extend([record.format.number(), record.attribute.0]);
            if record.format == Format::Sized {
                bytes.extend((record.value.len() as u16).to_le_bytes());
            }
            bytes.extend(&record.value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }
}

fn merge_value(attribute: CompatCode, merged: &mut Vec<u8>, value: &[u8]) {
    let (Some(old), Some(&new)) = (merged.first_mut(), value.first()) else {
        return;
    };
    match attribute {
        CompatCode::ISA_CLASS => {
            *old = if *old == 0 || new == 0 {
                0
            } else {
                new.max(*old)
            }
        }
        CompatCode::INST_TENSORMAP_V1 => *old |= new,
        CompatCode::INST_TCGEN05_MMA => {
            *old = if *old == 0 || new == 0 {
                0
            } else {
                (*old & !3) | (*old & 3).max(new & 3)
            };
        }
        CompatCode::ENABLE_OPPORTUNISTIC_FINALIZATION if *old != new => *old = 1,
        CompatCode::MERCURY_ISA_VERSION if value > &merged[..] => *merged = value.to_vec(),
        // The target's own, computed, or unknown: the first input's value.
        _ => {}
    }
}
