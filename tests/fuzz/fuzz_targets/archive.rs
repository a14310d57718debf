//! Archives, and archives in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::container::archive::walk;
use rustnvlink::error::ParseError;

fuzz_target!(|data: &[u8]| {
    let _ = walk("lib.a", data, &mut |path, member| {
        assert!(path.starts_with("lib.a:"));
        assert!(member.data.is_none_or(|d| d.len() <= data.len()));
        Ok::<_, ParseError>(())
    });
});
