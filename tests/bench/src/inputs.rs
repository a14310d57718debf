//! Makes the objects of a shape with NVIDIA's assembler, and keeps them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, anyhow};
use cudalink_toolkit::{CACHE_VARIABLE, Environment, Tool};
use rustnvlink::fatbin::{self, CompressionMode, FatbinOptions, LinkedImage};
use rustnvlink_tests::process;
use rustnvlink_tests::toolkit::Toolkit;
use sha2::{Digest as _, Sha256};

use crate::ptx;
use crate::shapes::{Form, Shape};

/// Where objects are made and kept.
pub(crate) struct Inputs {
    root: PathBuf,
    ptxas: PathBuf,
    arch: String,
    /// What the objects depend on besides their text.
    identity: String,
}

/// The objects of one shape.
pub(crate) struct Objects {
    pub(crate) folder: PathBuf,
    /// File names in the folder.
    pub(crate) names: Vec<String>,
    /// Bytes of all of them.
    pub(crate) size: u64,
}

impl Inputs {
    /// Opens the folder in the user's cache.
    pub(crate) fn open(toolkit: &Toolkit, arch: &str) -> Result<Self> {
        let cache = Environment::from_process()?.cache;
        let cache =
            cache.with_context(|| format!("no cache folder: set {CACHE_VARIABLE} or HOME"))?;
        let root = cache.join("bench");
        fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        Ok(Self {
            root,
            ptxas: toolkit.tool(Tool::Ptxas)?,
            arch: arch.to_owned(),
            identity: toolkit.identity.clone(),
        })
    }

    /// The objects of a shape, made unless they are there.
    pub(crate) fn of(&self, shape: &Shape) -> Result<Objects> {
        let mut hash = Sha256::new();
        hash.update(&self.identity);
        hash.update(&self.arch);
        if shape.form == Form::Fatbin {
            hash.update(shape.form.extension());
        }
        for index in 0..shape.files {
            hash.update(self.source(shape, index));
        }
        let key: String = hash.finalize()[..12]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let folder = self.root.join(key);
        if !folder.is_dir() {
            self.make(shape, &folder)?;
        }
        let names: Vec<String> = (0..shape.files)
            .map(|i| name(i, shape.form.extension()))
            .collect();
        let mut size = 0;
        for name in &names {
            let path = folder.join(name);
            let meta = fs::metadata(&path);
            size += meta
                .with_context(|| format!("no {}", path.display()))?
                .len();
        }
        Ok(Objects {
            folder,
            names,
            size,
        })
    }

    fn source(&self, shape: &Shape, index: usize) -> String {
        let mut text = ptx::head(&self.arch);
        text.push_str(&(shape.source)(index));
        text
    }

    /// Fills a folder beside the final one, which then appears at once.
    fn make(&self, shape: &Shape, folder: &Path) -> Result<()> {
        let scratch = tempfile::Builder::new()
            .prefix("scratch-")
            .tempdir_in(&self.root)
            .context("cannot make a folder")?;
        let next = AtomicUsize::new(0);
        let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..workers)
                .map(|_| {
                    scope.spawn(|| -> Result<()> {
                        loop {
                            let index = next.fetch_add(1, Ordering::Relaxed);
                            if index >= shape.files {
                                return Ok(());
                            }
                            self.assemble(shape, index, scratch.path())?;
                        }
                    })
                })
                .collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().expect("no worker panics"))
        })?;
        let made = scratch.keep();
        // Somebody else may have been faster with the same.
        if fs::rename(&made, folder).is_err() {
            fs::remove_dir_all(&made)
                .with_context(|| format!("cannot remove {}", made.display()))?;
        }
        Ok(())
    }

    fn assemble(&self, shape: &Shape, index: usize, folder: &Path) -> Result<()> {
        let (text, cubin) = (name(index, "ptx"), name(index, "cubin"));
        let path = folder.join(&text);
        fs::write(&path, self.source(shape, index))
            .with_context(|| format!("cannot write {}", path.display()))?;
        let arguments = [
            format!("-arch={}", self.arch),
            "-c".to_owned(),
            text,
            "-o".to_owned(),
            cubin.clone(),
        ];
        process::run_ok(&self.ptxas, &arguments, folder)?;
        remove(&path)?;
        match shape.form {
            Form::Cubin => Ok(()),
            Form::Fatbin => self.compress(&folder.join(cubin)),
        }
    }

    /// Puts a fatbin in the place of a device object.
    fn compress(&self, cubin: &Path) -> Result<()> {
        let data = fs::read(cubin).with_context(|| format!("cannot read {}", cubin.display()))?;
        let sm = self.arch.parse();
        let image = LinkedImage::new(
            sm.map_err(|_| anyhow!("{} is no processor", self.arch))?,
            &data,
        );
        let options = FatbinOptions::default().compression(CompressionMode::BALANCE);
        let path = cubin.with_extension(Form::Fatbin.extension());
        fs::write(&path, fatbin::write(&[image], &options)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        remove(cubin)
    }
}

fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
}

fn name(index: usize, extension: &str) -> String {
    format!("{index:04}.{extension}")
}
