//! Host objects and programs, with the fatbins in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::container::HostFile;

fuzz_target!(|data: &[u8]| {
    if let Ok(file) = HostFile::parse(data) {
        for section in &file.fatbins {
            section.fatbins().for_each(drop);
        }
        for references in &file.references {
            let _ = references.matches("_Z6kernelPi");
        }
    }
});
