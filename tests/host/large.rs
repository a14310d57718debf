//! More device code than host code can reach across.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustnvlink::fatbin::{self, FatbinOptions};
use rustnvlink::host::{HostMachine, HostObject};

use crate::world::{World, missing_linker, missing_program, run, source_file};
use crate::{Missing, Suite};

/// Beyond the two gigabytes that an instruction of x86-64 can span.
const SIZE: usize = 2_200 << 20;
/// The object is sparse, the program is not.
const NEEDED: u64 = 3 << 30;

/// How each linker manages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The section is marked as large, and that is enough.
    Mark,
    /// With the script.
    Script,
}

const LINKERS: [(&str, Way); 4] = [
    ("bfd", Way::Script),
    ("lld", Way::Script),
    ("gold", Way::Mark),
    ("mold", Way::Mark),
];

pub(crate) fn add(suite: &mut Suite) {
    for (linker, way) in LINKERS {
        let missing = missing_host()
            .or_else(missing_space)
            .or_else(|| missing_linker(linker));
        let name = format!("large/{linker}");
        suite.add(name, missing, move |world| link(world, linker, way));
    }
}

fn missing_host() -> Missing {
    let is_host = HostMachine::native() == Some(HostMachine::X86_64);
    (!is_host)
        .then(|| "this is no x86-64 machine".to_owned())
        .or_else(|| missing_program("cc"))
}

/// The folder for the large files: in memory if there is one, because disks are slow.
fn place() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    match free(&memory) {
        Some(bytes) if bytes >= NEEDED => memory,
        _ => std::env::temp_dir(),
    }
}

fn missing_space() -> Missing {
    let folder = place();
    match free(&folder) {
        Some(bytes) if bytes >= NEEDED => None,
        _ => Some(format!(
            "{} has no {NEEDED} bytes to spare",
            folder.display()
        )),
    }
}

fn free(folder: &Path) -> Option<u64> {
    let output = Command::new("df")
        .args(["--output=avail", "-B1"])
        .arg(folder)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().nth(1)?.trim().parse().ok()
}

fn link(world: &World, linker: &str, way: Way) -> Result<()> {
    let folder = tempfile::tempdir_in(place())?;
    let folder = folder.path();
    let mut fatbin = fatbin::write(&[], &FatbinOptions::default())?;
    let header = fatbin.len();
    fatbin.resize(SIZE, 0);
    // One entry, of a kind that nothing knows.
    let entry = (SIZE - header - 0x40) as u64;
    fatbin[8..16].copy_from_slice(&((SIZE - header) as u64).to_le_bytes());
    fatbin[header + 4] = 0x40;
    fatbin[header + 8..header + 16].copy_from_slice(&entry.to_le_bytes());
    let modules = ["_a".to_owned()];
    let object = folder.join("link.o");
    let mut out = Sparse::create(&object)?;
    HostObject::new(&fatbin, &modules)?.write(HostMachine::X86_64, &mut out)?;
    out.finish()?;
    drop(fatbin);
    let blocks = Command::new("du").arg("-k").arg(&object).output()?;
    let blocks = String::from_utf8_lossy(&blocks.stdout).into_owned();
    let used: u64 = blocks.split('\t').next().unwrap_or_default().parse()?;
    ensure!(used < 1 << 20, "the object is not sparse: {used} KiB");

    let script = folder.join("script.lds");
    run(world.cudalink()?.arg("script").arg("-o").arg(&script))?;
    let program = folder.join("program");
    let mut command = Command::new("cc");
    command
        .arg(format!("-fuse-ld={linker}"))
        .arg("-DNAME=_a")
        .arg(&object)
        .args(["unit.c", "runtime.c", "empty_main.c"].map(source_file))
        .arg("-o")
        .arg(&program);
    if way == Way::Script {
        command.arg(format!("-Wl,-T,{}", script.display()));
    }
    run(&mut command)?;
    let text = run(&mut Command::new(&program))?;
    let size = fs::metadata(&program)?.len();
    ensure!(size as usize > SIZE, "the program has {size} bytes");
    ensure!(
        text.contains("callback of _a with 1\n__cudaRegisterFatBinaryEnd 1"),
        "{text}"
    );
    Ok(())
}

/// Leaves holes where there are only zeros.
struct Sparse(BufWriter<File>);

impl Sparse {
    fn create(path: &Path) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(BufWriter::new(file)))
    }

    fn finish(mut self) -> io::Result<()> {
        let end = self.0.stream_position()?;
        let file = self
            .0
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.set_len(end)
    }
}

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const ZEROS: &[u8] = &[0; 1 << 16];
        for chunk in bytes.chunks(ZEROS.len()) {
            // Comparing is faster than looking at each byte without optimization.
            if chunk == &ZEROS[..chunk.len()] {
                self.0.seek(SeekFrom::Current(chunk.len() as i64))?;
            } else {
                self.0.write_all(chunk)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
