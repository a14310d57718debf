//! The version of a toolkit, which is that of its `nvcc`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use semver::Version;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::toolkit::ToolkitError;

/// The part of a toolkit's `version.json` that is read here.
#[derive(Deserialize)]
struct VersionFile {
    cuda_nvcc: Option<Component>,
}

#[derive(Deserialize)]
struct Component {
    version: Version,
}

/// The version that `version.json` states, if the toolkit has such a file.
pub(crate) fn stated(root: &Path) -> Option<Version> {
    let text = fs::read_to_string(root.join("version.json")).ok()?;
    let file: VersionFile = serde_json::from_str(&text).ok()?;
    Some(file.cuda_nvcc?.version)
}

/// The parts that `version.json` names.
pub(crate) fn components(root: &Path) -> BTreeMap<String, IgnoredAny> {
    let text = fs::read_to_string(root.join("version.json"));
    text.ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// Asks a program, such as `nvcc`, for its version.
pub(crate) fn ask(nvcc: &Path) -> Result<Version, ToolkitError> {
    let failed = |reason: String| ToolkitError::Version {
        nvcc: nvcc.to_owned(),
        reason,
    };
    let output = Command::new(nvcc)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(format!("it cannot be run: {error}")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let said = match text.trim() {
            "" => "nothing was said",
            said => said,
        };
        return Err(failed(format!("it ended with {}: {said}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).ok_or_else(|| {
        failed(format!(
            "no version such as V13.0.88 in its answer: {}",
            text.trim()
        ))
    })
}

/// Takes the version out of `Cuda compilation tools, release 13.0, V13.0.88`.
fn parse(text: &str) -> Option<Version> {
    text.split([' ', ',', '\n', '\r'])
        .filter_map(|word| word.strip_prefix('V'))
        .find_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_taken_from_the_release_line() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\n\
                    Built on Very_late\n\
                    Cuda compilation tools, release 13.0, V13.0.88\n\
                    Build cuda_13.0.r13.0/compiler.36424714_0\n";
        assert_eq!(parse(text), Some(Version::new(13, 0, 88)));
        assert_eq!(parse("release 13.0"), None);
        assert_eq!(parse(""), None);
    }
}
