//! Toolkits that a package manager of Python has unpacked.
//!
//! The packages of CUDA 13 put a whole toolkit into `nvidia/cu13`. Those of CUDA 12 put each component into a folder
//! of its own, of which `nvidia/cuda_nvcc` may hold the compiler.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::environment::Environment;
use crate::search::{Refusal, entries};

/// Prints the folders of the interpreter's packages, one in a line. Modules that lie in the current folder are not its own.
const LIST_FOLDERS: &str = "\
import sys
sys.path = [folder for folder in sys.path if folder]
import site, sysconfig
folders = [sysconfig.get_path('purelib'), sysconfig.get_path('platlib'), site.getusersitepackages()]
folders += getattr(site, 'getsitepackages', list)()
print('\\n'.join(dict.fromkeys(folders)))
";

/// Python could not be asked.
#[derive(Debug, Clone)]
pub(crate) struct PythonFailure {
    pub(crate) program: Option<PathBuf>,
    pub(crate) refusal: Refusal,
}

/// The folders of the environments that are switched on, found without running anything.
pub(crate) fn of_environments(environment: &Environment) -> Vec<PathBuf> {
    [&environment.virtual_env, &environment.conda_prefix]
        .into_iter()
        .flatten()
        .flat_map(|prefix| entries(&environment.current_dir.join(prefix).join("lib")))
        .map(|python| python.join("site-packages"))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// The folders that `python3` names.
pub(crate) fn of_python(environment: &Environment) -> Result<Vec<PathBuf>, PythonFailure> {
    let Some(python) = environment.programs("python3").into_iter().next() else {
        return Err(PythonFailure {
            program: None,
            refusal: Refusal::NoProgram("python3"),
        });
    };
    let known = of_environments(environment);
    match answer(&python, &environment.current_dir) {
        Ok(folders) => Ok(folders
            .into_iter()
            .filter(|folder| !known.contains(folder))
            .collect()),
        Err(reason) => Err(PythonFailure {
            program: Some(python),
            refusal: Refusal::Python(reason),
        }),
    }
}

/// The folders that an interpreter names, or why it does not.
type Answer = Result<Vec<PathBuf>, String>;

/// What an interpreter answers in a folder, for the shims of version managers look there. A process asks once: starting
/// Python takes as long as many a link, and links look for a toolkit again and again.
fn answer(python: &Path, folder: &Path) -> Answer {
    static ANSWERS: Mutex<BTreeMap<(PathBuf, PathBuf), Answer>> = Mutex::new(BTreeMap::new());
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    answers
        .entry((python.to_owned(), folder.to_owned()))
        .or_insert_with(|| ask(python, folder))
        .clone()
}

fn ask(python: &Path, folder: &Path) -> Answer {
    let output = Command::new(python)
        .args(["-c", LIST_FOLDERS])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(text.lines().last().unwrap_or("no message").to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(PathBuf::from).collect())
}

/// The folders of one `site-packages` that may be the root of a toolkit, the newest CUDA first.
pub(crate) fn roots(site_packages: &Path) -> Vec<PathBuf> {
    let nvidia = site_packages.join("nvidia");
    let mut numbered: Vec<(u64, PathBuf)> = entries(&nvidia)
        .into_iter()
        .filter_map(|path| {
            Some((
                path.file_name()?
                    .to_str()?
                    .strip_prefix("cu")?
                    .parse()
                    .ok()?,
                path,
            ))
        })
        .collect();
    numbered.sort();
    let split = nvidia.join("cuda_nvcc");
    numbered
        .into_iter()
        .rev()
        .map(|(_, path)| path)
        .chain(split.is_dir().then_some(split))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_in_the_current_folder_are_not_run() {
        let folder = tempfile::tempdir().unwrap();
        for module in ["site.py", "sysconfig.py"] {
            std::fs::write(folder.path().join(module), "raise SystemExit('was run')").unwrap();
        }
        let python = which::which("python3").expect("`tests/run` installs Python");
        let answer = ask(&python, folder.path());
        assert!(
            answer.as_ref().is_ok_and(|folders| !folders.is_empty()),
            "{answer:?}"
        );
    }
}
