//! Toolkits that a package manager of Python has unpacked.
//!
//! The packages of CUDA 13 put a whole toolkit into `nvidia/cu13`. Those of CUDA 12 put each component into a folder
//! of its own, of which `nvidia/cuda_nvcc` may hold the compiler.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::environment::Environment;
use crate::search::{Refusal, entries};

/// Prints the folders of the interpreter's packages, one in a line.
const LIST_FOLDERS: &str = "\
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
    let fail = |reason: String| PythonFailure {
        program: Some(python.clone()),
        refusal: Refusal::Python(reason),
    };
    let output = Command::new(&python)
        .args(["-c", LIST_FOLDERS])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(error.to_string()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(fail(text.lines().last().unwrap_or("no message").to_owned()));
    }
    let known = of_environments(environment);
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .lines()
        .map(PathBuf::from)
        .filter(|folder| !known.contains(folder))
        .collect())
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
