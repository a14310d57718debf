//! Fatbins one behind the other, and their payloads within a limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::fatbin::{Compression, Limit, fatbins};

const LIMIT: Limit = Limit(1 << 22);

fuzz_target!(|data: &[u8]| {
    for entry in fatbins(data).flatten().flat_map(|f| f.entries()).flatten() {
        assert!(entry.stored.len() <= data.len());
        let _ = entry.compat_record();
        let _ = entry.compiler_options();
        if let Ok(image) = entry.image(LIMIT)
            && entry.compression() != Compression::None
        {
            assert!(image.len() as u64 <= entry.size.min(LIMIT.0));
        }
    }
});
