//! Texts of the testkit, and the objects they build.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::cubin::File;

fuzz_target!(|text: &str| {
    if let Ok(object) = rustnvlink_testkit::build(text) {
        // A text may declare damaged sections on purpose.
        let _ = File::parse(&object);
    }
});
