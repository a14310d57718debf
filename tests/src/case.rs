//! Finds the cases.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::arch::Arch;
use crate::directive::{self, MARK, Script};

/// A folder of `cases/`.
#[derive(Debug)]
pub struct Case {
    /// The name of the folder.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// All files of the folder that a step may use: name and text without directives.
    pub sources: Vec<(String, String)>,
    /// The architectures it runs for, each with its steps.
    pub scripts: Vec<(Arch, Script)>,
}

/// Reads all cases, sorted by name. A mistake in one is a mistake of the whole suite.
pub fn all() -> Result<Vec<Case>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut cases = Vec::new();
    for item in fs::read_dir(&root).with_context(|| format!("cannot list {}", root.display()))? {
        let folder = item?.path();
        if folder.is_dir() {
            cases.push(read(&folder).with_context(|| format!("in {}", folder.display()))?);
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

fn read(folder: &Path) -> Result<Case> {
    let mut sources = Vec::new();
    let mut directives: Option<(String, String)> = None;
    for item in fs::read_dir(folder)? {
        let path = item?.path();
        let name = path
            .file_name()
            .context("no name")?
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        if text.lines().any(|line| line.trim_start().starts_with(MARK)) {
            if let Some((other, _)) = &directives {
                bail!("both {other} and {name} hold directives");
            }
            directives = Some((name.clone(), text.clone()));
        }
        sources.push((name, directive::without_directives(&text)));
    }
    let (file, text) =
        directives.with_context(|| format!("no file holds directives (`{MARK}`)"))?;
    let scripts = directive::archs(&text)
        .and_then(|archs| {
            archs
                .into_iter()
                .map(|arch| Ok((arch, directive::parse(&text, arch)?)))
                .collect()
        })
        .with_context(|| format!("in {file}"))?;
    let name = folder
        .file_name()
        .context("no name")?
        .to_string_lossy()
        .into_owned();
    Ok(Case {
        name,
        folder: folder.to_owned(),
        sources,
        scripts,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_reads() {
        assert!(!super::all().unwrap().is_empty());
    }
}
