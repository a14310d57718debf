//! A folder in which a test runs the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustnvlink::fatbin::{self, FatbinOptions, LinkedImage};

/// A folder of its own for every test, with two objects that belong together.
pub(crate) struct Folder(pub(crate) tempfile::TempDir);

/// What a run printed, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    /// An object that the repository holds.
    pub(crate) fn input(name: &str, sm: &str) -> PathBuf {
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
        inputs.join(format!("{name}.{sm}.cubin"))
    }

    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["caller", "callee"] {
            let from = Self::input(name, "sm_90");
            std::fs::copy(&from, folder.path().join(format!("{name}.cubin"))).unwrap();
        }
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn run(&self, arguments: &str) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_rustnvlink"))
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .output()
            .unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a link, and says how it ended and what it said.
    pub(crate) fn check(&self, arguments: &str, code: i32, stderr: &str) {
        let ran = self.run(arguments);
        assert_eq!(
            (ran.code, &*ran.stderr),
            (Some(code), stderr),
            "{arguments}"
        );
    }

    /// Writes a fatbin with the code of one input for two processors.
    pub(crate) fn write_fatbin(&self, name: &str) {
        self.write_fatbin_of(name, &[("sm_80", "sm_80"), ("sm_90", "sm_90")]);
    }

    /// Writes a fatbin with code of one input: the processors that its entries name, and those of their code.
    pub(crate) fn write_fatbin_of(&self, name: &str, entries: &[(&str, &str)]) {
        let read = |&(_, sm): &(&str, &str)| std::fs::read(Self::input(name, sm)).unwrap();
        let code: Vec<Vec<u8>> = entries.iter().map(read).collect();
        let images = entries
            .iter()
            .zip(&code)
            .map(|((sm, _), data)| LinkedImage::new(sm.parse().unwrap(), data));
        let images: Vec<LinkedImage<'_>> = images.collect();
        let bytes = fatbin::write(&images, &FatbinOptions::default()).unwrap();
        std::fs::write(self.path(&format!("{name}.fatbin")), bytes).unwrap();
    }
}
