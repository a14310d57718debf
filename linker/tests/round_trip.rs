//! Every device object decodes and encodes to the same bytes.
//!
//! The committed inputs are always read. `RUSTNVLINK_CORPUS` names a folder of
//! more device objects, such as all inputs and outputs of the test cases that
//! `cargo run -p rustnvlink-tests --bin corpus -- DIR` writes.

use std::path::{Path, PathBuf};

use rustnvlink::cubin::{Content, Cubin, SectionType};

fn objects_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "cubin"))
        .collect();
    files.sort();
    files
}

/// Whether the bytes are not a whole device object, but say a truncated one
/// that a test case feeds to the linker.
fn is_damaged(data: &[u8]) -> bool {
    let is_elf = data.len() > 64 && data.starts_with(b"\x7fELF\x02\x01");
    if !is_elf || data[18..20] != 190_u16.to_le_bytes() {
        return true;
    }
    // The section table is behind everything but the program headers.
    let sections = u64::from_le_bytes(data[40..48].try_into().unwrap());
    sections + 64 > data.len() as u64
}

fn check(path: &Path, data: &[u8]) -> Result<(), String> {
    let context = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let cubin = Cubin::parse(data).map_err(|e| context(&e))?;
    if !cubin.unexplained.is_empty() {
        return Err(context(&format_args!(
            "unexplained {:?}",
            cubin.unexplained
        )));
    }
    for section in &cubin.sections {
        let opaque = matches!(section.content, Content::Bytes(bytes) if !bytes.is_empty());
        let decodable = section.kind != SectionType::PROGBITS
            && section.kind.constant_bank().is_none()
            && section.kind != SectionType::CUDA_GLOBAL_INIT
            && section.kind != SectionType::CUDA_UFT
            && section.kind != SectionType::CUDA_UDT
            && section.kind != SectionType::CUDA_SHARED_RESERVED
            && section.kind != SectionType::CUDA_MERC_CONSTANT_OPTIMIZER;
        if opaque && decodable {
            return Err(context(&format_args!("{} is not decoded", section.name)));
        }
    }
    if cubin.encode().map_err(|e| context(&e))? != data {
        return Err(context(&"other bytes"));
    }
    Ok(())
}

#[test]
fn every_object_survives_a_round_trip() {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let mut files = objects_in(&inputs);
    assert!(files.len() >= 10, "the committed inputs are there");
    #[expect(
        clippy::disallowed_methods,
        reason = "a test says by itself where more objects are"
    )]
    let corpus = std::env::var_os("RUSTNVLINK_CORPUS");
    if let Some(corpus) = corpus {
        files.extend(objects_in(Path::new(&corpus)));
    }
    let mut failures = Vec::new();
    let mut checked = 0;
    for path in &files {
        let data = std::fs::read(path).unwrap();
        if is_damaged(&data) {
            continue;
        }
        checked += 1;
        failures.extend(check(path, &data).err());
    }
    println!("{checked} of {} files checked", files.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
