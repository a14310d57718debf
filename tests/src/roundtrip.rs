//! Device objects decode and encode to the same bytes.

use std::collections::HashSet;
use std::fs;

use anyhow::{Context, Result};
use rustnvlink::cubin::{Cubin, EM_CUDA};

use crate::directive::{Action, Script};
use crate::store::Files;

/// What is wrong with the model of any device object among `files` of a case. Objects
/// that it has cut short are left out, and such as it has patched where nothing reads them.
pub fn check(files: &Files, script: &Script) -> Result<Vec<String>> {
    let patched: HashSet<&str> = script
        .steps
        .iter()
        .filter_map(|step| match &step.action {
            Action::Patch { output, .. } => Some(output.as_str()),
            _ => None,
        })
        .collect();
    let mut wrong = Vec::new();
    for (name, file) in files {
        let data = fs::read(&file.path).with_context(|| format!("cannot read {name}"))?;
        if !is_whole_object(&data) {
            continue;
        }
        match Cubin::parse(&data) {
            Err(_) if patched.contains(name.as_str()) => {}
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(cubin) => match cubin.encode() {
                Ok(encoded) if encoded == data => {}
                Ok(_) => wrong.push(format!("{name} encodes to other bytes")),
                Err(error) => wrong.push(format!("{name}: {error}")),
            },
        }
    }
    Ok(wrong)
}

/// Whether the bytes are those of a device object, up to its section table.
fn is_whole_object(data: &[u8]) -> bool {
    let machine = data
        .get(18..20)
        .map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let sections = data
        .get(40..48)
        .and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
    data.starts_with(b"\x7fELF\x02\x01")
        && machine == Some(EM_CUDA)
        && sections.is_some_and(|table| table < data.len() as u64)
}
