//! Mercury code of one function.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::cubin::Capsule;

fuzz_target!(|data: &[u8]| {
    let Ok(capsule) = Capsule::parse(data) else {
        return;
    };
    assert_eq!(capsule.encode(), data);
    for stored in &capsule.stored {
        let body = capsule.body(stored.index).expect("it is stored");
        assert!(body.end <= data.len() && body.start < body.end);
    }
});
