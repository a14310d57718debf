//! Links of so many files that several threads unpack them, and look at them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rustnvlink::fatbin::{self, CompressionMode, FatbinOptions, LinkedImage};

const NAME: &[u8] = b"saxpy";
const FILES: usize = 400;

/// A folder with many kernels, each in a cubin and in a fatbin.
fn folder(mode: CompressionMode) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs/saxpy.sm_90.cubin");
    let original = fs::read(path).expect("a committed input");
    let places: Vec<usize> = (0..original.len() - NAME.len())
        .filter(|&place| original[place..].starts_with(NAME))
        .collect();
    for number in 0..FILES {
        let mut data = original.clone();
        for &place in &places {
            data[place..place + NAME.len()].copy_from_slice(format!("{number:05}").as_bytes());
        }
        let image = LinkedImage::new("sm_90".parse().expect("a processor"), &data);
        let options = FatbinOptions::default().compression(mode);
        let fatbin = fatbin::write(&[image], &options).expect("it is small");
        let path = folder.path().join(format!("{number:03}"));
        fs::write(path.with_extension("cubin"), data).expect("a file");
        fs::write(path.with_extension("fatbin"), fatbin).expect("a file");
    }
    folder
}

fn link(folder: &Path, extension: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rustnvlink"))
        .args(["-arch=sm_90", "-o", "out.cubin"])
        .args((0..FILES).map(|number| format!("{number:03}.{extension}")))
        .current_dir(folder)
        .output()
        .expect("the linker starts")
}

#[test]
fn what_is_unpacked_is_what_was_packed() {
    for mode in [CompressionMode::Lz4, CompressionMode::BALANCE] {
        let folder = folder(mode);
        let image = |extension| {
            let output = link(folder.path(), extension);
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{messages}");
            fs::read(folder.path().join("out.cubin")).expect("an image")
        };
        assert!(image("cubin") == image("fatbin"), "{mode}");
    }
}

#[test]
fn the_first_damage_is_the_one_that_counts() {
    let folder = folder(CompressionMode::BALANCE);
    for number in [123, 234, 345] {
        let path = folder.path().join(format!("{number}.fatbin"));
        let mut data = fs::read(&path).expect("a file");
        // The frame's header, behind those of the fatbin and the entry.
        data[16 + 0x40] ^= 0xff;
        fs::write(path, data).expect("a file");
    }
    let output = link(folder.path(), "fatbin");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(messages.contains("123.fatbin"), "{messages}");
    assert!(!messages.contains("234.fatbin"), "{messages}");
    assert!(!messages.contains("345.fatbin"), "{messages}");
    assert!(!folder.path().join("out.cubin").exists());
}
