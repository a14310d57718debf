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

    /// Merges the attributes of one input.
    pub(super) fn merge(&mut self, data: &[u8], target: Sm) -> Result<(), ParseError> {
        let first = !std::mem::replace(&mut self.merged_one, true);
        if first {
            self.records.clear();
        }
        for record in CompatRecords::new(data) {
            let record = record?;
            let attribute = record.code;
            if attribute == CompatCode::CAN_FASTPATH_FINALIZE && !target.has_mercury() {
                continue;
            }
            let value = if record.format == Format::Sized {
                record.payload
            } else {
                &record.value[..]
            };
            match self.records.iter_mut().find(|r| r.attribute == attribute) {
                Some(merged) => merge_value(attribute, &mut merged.value, value),
                // An attribute that an earlier input lacks counts as zero there,
                // which is what the combining rules give for a new record.
                None => self.records.push(CompatRecord {
                    format: record.format,
                    attribute,
                    value: value.to_vec(),
                }),
            }
        }
        if first
            && let Some(record) = self
                .records
                .iter_mut()
                .find(|r| r.attribute == CompatCode::CUDA_ACCELERATOR_TARGET)
        {
            record.value[0] = u8::from(target.suffix == Some(Suffix::A));
        }
        Ok(())
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
