//! Whole device objects: what parses encodes to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::cubin::Cubin;

fuzz_target!(|data: &[u8]| {
    if let Ok(cubin) = Cubin::parse(data) {
        assert_eq!(cubin.encode().expect("a parsed file fits"), data);
    }
});
