//! Links of files: device and host objects, fatbins and archives, of which the bytes give names and contents.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::device_link::{DeviceLink, Request};
use rustnvlink::inputs::{Archives, Files, Kernels, Wanted};
use rustnvlink::options::Behaviour;
use rustnvlink_fuzz::Bytes;

/// What files are called.
const NAMES: [&str; 8] = [
    "a.o",
    "liba.a",
    "a.cubin",
    "a.fatbin",
    "a.ltoir",
    "a.so",
    "libcudadevrt.a",
    "a",
];

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let (flags, name, at) = (bytes.byte(), bytes.byte(), bytes.word() as usize);
    let mut wanted = Wanted::new(Vec::new());
    if flags & 1 != 0 {
        wanted.behaviour = Behaviour::Nvlink;
    }
    wanted.archives = match flags >> 1 & 3 {
        0 | 1 => Archives::Whole,
        2 => Archives::InOrder,
        _ => Archives::Grouped,
    };
    if flags & 8 != 0 {
        wanted.kernels = Kernels::All;
    }
    wanted.may_lack_arch = flags & 16 != 0;
    wanted.may_be_empty = flags & 32 != 0;
    wanted.registers_modules = flags & 64 == 0;
    wanted.keep_system_libraries = flags & 128 != 0;
    // One file, or two where the rest is longer than a number says.
    let (first, second) = bytes.0.split_at(at.min(bytes.0.len()));
    let names = [name % 8, name / 8 % 8].map(|at| NAMES[usize::from(at)]);
    let files = [first, second].into_iter().zip(names);
    let files = files.filter(|(data, _)| !data.is_empty());
    let files = files.map(|(data, name)| (name.to_owned(), data.to_vec()));
    let files = Files::in_memory(files.collect::<Vec<_>>());
    let request = Request::new(wanted);
    let targets = match name >> 6 {
        0 => vec![],
        1 => vec!["sm_90".parse().expect("a processor")],
        2 => vec!["sm_75".parse().expect("a processor")],
        _ => vec!["sm_103".parse().expect("a processor")],
    };
    let _ = files.survey();
    let linked = DeviceLink::new(&request).link(files, &targets);
    for message in &linked.messages {
        let _ = message.diagnostic.shown();
    }
});
