//! Any text has a readable form, of bounded length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::demangle::readable;

fuzz_target!(|name: &str| {
    let text = readable(name);
    assert!(text.len() <= (1 << 18) + name.len());
});
