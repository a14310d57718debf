//! Relocations applied to bytes, both from the input: records of a type, an
//! offset, a bank and a value, then the bytes they patch.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::arch::relocation::{RelocationType, Target};

fuzz_target!(|data: &[u8]| {
    let Some((&[count], rest)) = data.split_first_chunk::<1>() else {
        return;
    };
    let split = (usize::from(count) * 16).min(rest.len());
    let (records, bytes) = rest.split_at(split);
    let mut bytes = bytes.to_vec();
    for record in records.as_chunks::<16>().0 {
        let [a, b, c, bank, offset @ ..] = record;
        let kind = RelocationType(u32::from_le_bytes([*a, *b, *c, 0]));
        let Some(row) = kind.row() else {
            continue;
        };
        let (offset, value) = offset.split_at(4);
        let offset = u32::from_le_bytes(offset.try_into().expect("four bytes")).into();
        let value = u64::from_le_bytes(value.try_into().expect("eight bytes"));
        let target = Target::in_bank(*bank, value);
        if row.apply(&mut bytes, offset, target).is_ok() {
            let once = bytes.clone();
            row.apply(&mut bytes, offset, target)
                .expect("it was applied");
            assert_eq!(bytes, once, "{kind} depends on what was there");
        }
        let addend = (record[0] & 1 == 0).then_some(value as i64);
        let _ = row.resolve(&mut bytes, offset, target, addend);
    }
});
