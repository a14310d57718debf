//! Merges `.nv.compat` of all inputs into one list of attributes.

use crate::arch::{Sm, Suffix, Toolkit};
use crate::cubin::{CompatCode, CompatRecord, CompatRecords, Format};
use crate::error::ParseError;

/// One attribute of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedRecord {
    pub(crate) format: Format,
    pub(crate) attribute: CompatCode,
    pub(crate) value: Vec<u8>,
}

impl MergedRecord {
    fn in_file(&self) -> CompatRecord<'_> {
        let (value, payload) = match (self.format, &self.value[..]) {
            (Format::NoValue | Format::Byte | Format::Half, &[low, high, ..]) => {
                ([low, high], &[][..])
            }
            (_, payload) => ([0; 2], payload),
        };
        CompatRecord {
            format: self.format,
            code: self.attribute,
            value,
            payload,
        }
    }
}

/// What it means if an input has attributes, but not this one.
struct Missing {
    attribute: CompatCode,
    format: Format,
    value: [u8; 2],
    /// The links that know it: those with an object of the first toolkit and none of the second
    /// or a later one.
    since: Toolkit,
    until: Toolkit,
}

impl Missing {
    const fn new(attribute: CompatCode, format: Format, value: [u8; 2]) -> Self {
        Self {
            attribute,
            format,
            value,
            since: Toolkit(0),
            until: Toolkit(u16::MAX),
        }
    }

    const fn since(self, toolkit: u16) -> Self {
        let since = Toolkit(toolkit);
        Self { since, ..self }
    }

    const fn until(self, toolkit: u16) -> Self {
        let until = Toolkit(toolkit);
        Self { until, ..self }
    }
}

/// Those that nvlink knows (case `relocatable_empty`; of later toolkits docs/format/notes.md).
const DEFAULTS: [Missing; 7] = [
    Missing::new(CompatCode::ISA_CLASS, Format::Byte, [0, 0]),
    Missing::new(CompatCode::INST_TENSORMAP_V1, Format::Byte, [3, 0]),
    Missing::new(CompatCode::INST_TCGEN05_MMA, Format::Byte, [0, 0]).until(131),
    Missing::new(
        CompatCode::ENABLE_OPPORTUNISTIC_FINALIZATION,
        Format::Byte,
        [1, 0],
    )
    .until(131),
    Missing::new(CompatCode::MERCURY_ISA_VERSION, Format::Half, [0, 1]).until(133),
    Missing::new(CompatCode::CUDA_INTERNAL_TARGET, Format::Byte, [2, 0]).since(134),
    Missing::new(CompatCode::ISA_VERSION, Format::Half, [0, 1]).since(133),
];

/// The merged attributes, in the order of their first appearance.
#[derive(Debug, Clone)]
pub(crate) struct Compat {
    pub(crate) records: Vec<MergedRecord>,
    merged_one: bool,
    /// Attributes that some input lacks, so that the program has none of them.
    unsaid: Vec<CompatCode>,
}

impl Compat {
    /// What a link without inputs writes.
    pub(super) fn new(target: Sm, toolkit: Toolkit) -> Self {
        let mut records = vec![MergedRecord {
            format: Format::Byte,
            attribute: CompatCode::CUDA_ACCELERATOR_TARGET,
            value: vec![u8::from(target.suffix == Some(Suffix::A)), 0],
        }];
        if target.has_mercury() && toolkit <= Toolkit::FOLLOWED {
            records.push(MergedRecord {
                format: Format::Sized,
                attribute: CompatCode::CAN_FASTPATH_FINALIZE,
                value: vec![0; 8],
            });
        }
        Self {
            records,
            merged_one: false,
            unsaid: Vec::new(),
        }
    }

    /// Merges the attributes of one input. Says whether it names the class of
    /// its instructions: what does not runs on one processor only. The newest of all inputs
    /// comes from the toolkit.
    pub(super) fn merge(
        &mut self,
        data: &[u8],
        target: Sm,
        toolkit: Toolkit,
    ) -> Result<bool, ParseError> {
        let first = !std::mem::replace(&mut self.merged_one, true);
        let mut said = Vec::new();
        for record in CompatRecords::new(data) {
            let record = record?;
            let attribute = record.code;
            said.push(attribute);
            if forgets(attribute, target, toolkit) {
                continue;
            }
            let value = if record.format == Format::Sized {
                record.payload
            } else {
                &record.value[..]
            };
            self.merge_record(attribute, record.format, value, toolkit);
        }
        for missing in &DEFAULTS {
            let is_known = (missing.since..missing.until).contains(&toolkit);
            if is_known && !said.contains(&missing.attribute) {
                self.merge_record(missing.attribute, missing.format, &missing.value, toolkit);
            }
        }
        for attribute in said_by_all(target, toolkit) {
            if !said.contains(attribute) && !self.unsaid.contains(attribute) {
                self.unsaid.push(*attribute);
            }
        }
        let unsaid = &self.unsaid;
        self.records
            .retain(|record| !unsaid.contains(&record.attribute));
        if first
            && let Some(record) = self
                .records
                .iter_mut()
                .find(|r| r.attribute == CompatCode::CUDA_ACCELERATOR_TARGET)
        {
            record.value[0] = u8::from(target.suffix == Some(Suffix::A));
        }
        Ok(said.contains(&CompatCode::ISA_CLASS))
    }

    fn merge_record(
        &mut self,
        attribute: CompatCode,
        format: Format,
        value: &[u8],
        toolkit: Toolkit,
    ) {
        if let Some(merged) = self.records.iter_mut().find(|r| r.attribute == attribute) {
            merge_value(attribute, &mut merged.value, value);
            return;
        }
        // The attribute that the link computes stays last.
        let is_last = |record: &MergedRecord| {
            record.attribute == CompatCode::CAN_FASTPATH_FINALIZE && toolkit <= Toolkit::FOLLOWED
        };
        let end = self.records.len() - usize::from(self.records.last().is_some_and(is_last));
        let record = MergedRecord {
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
            record.in_file().encode(&mut bytes);
        }
        bytes
    }
}

/// Whether an attribute of inputs is none of the program.
fn forgets(attribute: CompatCode, target: Sm, toolkit: Toolkit) -> bool {
    match attribute {
        CompatCode::CAN_FASTPATH_FINALIZE => !target.has_mercury() && toolkit < Toolkit(132),
        CompatCode::ENABLE_OPPORTUNISTIC_FINALIZATION => toolkit > Toolkit::FOLLOWED,
        _ => false,
    }
}

/// Attributes that a program has only if all inputs have them.
fn said_by_all(target: Sm, toolkit: Toolkit) -> &'static [CompatCode] {
    match (toolkit > Toolkit::FOLLOWED, target.has_mercury()) {
        (false, _) => &[],
        (true, true) => &[CompatCode::INST_TCGEN05_MMA],
        (true, false) => &[CompatCode::INST_TCGEN05_MMA, CompatCode::FINALIZER_VERSION],
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
        CompatCode::MERCURY_ISA_VERSION
        | CompatCode::ISA_VERSION
        | CompatCode::CUDA_INTERNAL_TARGET
        | CompatCode::FINALIZER_VERSION => {
            let is_greater = value.iter().rev().gt(merged.iter().rev());
            if is_greater {
                *merged = value.to_vec();
            }
        }
        // The target's own, computed, or unknown: the first input's value.
        _ => {}
    }
}
