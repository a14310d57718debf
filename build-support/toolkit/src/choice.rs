//! How users choose a toolkit: by its folder, or by its version.

use std::path::Path;

use crate::search::{NotFound, Search};
use crate::toolkit::Toolkit;

/// No toolkit is the one that was chosen.
#[derive(Debug, thiserror::Error)]
pub enum NotChosen {
    /// The folder is none of a toolkit.
    #[error(transparent)]
    Folder(#[from] NotFound),
    /// No toolkit of this machine has the version.
    #[error("there is no CUDA toolkit {0}; {help}", help = help_with(.0))]
    Version(String),
}

fn help_with(wanted: &str) -> String {
    match wanted.split('.').count() {
        3 => format!("`cargo cudalink toolkit install {wanted}` installs it"),
        _ => "`cargo cudalink toolkit list` shows those that there are".to_owned(),
    }
}

impl Search<'_> {
    /// Returns the toolkit that the environment chooses, else the first one.
    ///
    /// # Errors
    ///
    /// Fails when the chosen one is not there, or without a choice when no place serves.
    pub fn wanted(self) -> Result<Toolkit, NotChosen> {
        match self.environment().choice.clone() {
            Some(choice) => self.chosen(&choice),
            None => Ok(self.find()?),
        }
    }

    /// Returns the toolkit of this folder, or the first one whose version starts with these numbers.
    ///
    /// # Errors
    ///
    /// Fails when there is none.
    pub fn chosen(self, choice: &Path) -> Result<Toolkit, NotChosen> {
        let Some(wanted) = version(choice) else {
            return Ok(self.explicit(choice).find()?);
        };
        let has_version = |toolkit: &Toolkit| {
            let version = toolkit.version();
            version.is_ok_and(|version| starts_with(&version.to_string(), wanted))
        };
        let mut found = self.survey().found.into_iter();
        found
            .find(has_version)
            .ok_or_else(|| NotChosen::Version(wanted.to_owned()))
    }
}

/// The version, or the first numbers of it, that a choice of toolkit names instead of a folder.
#[must_use]
pub fn version(choice: &Path) -> Option<&str> {
    let text = choice.to_str()?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = text.split('.').all(is_number) && text.split('.').count() <= 3;
    is_version.then_some(text)
}

/// Whether a version is one that starts with these numbers.
fn starts_with(version: &str, wanted: &str) -> bool {
    let rest = version.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_of_a_version_are_enough() {
        let check = |wanted: &str, expected: bool| {
            assert_eq!(version(Path::new(wanted)), Some(wanted));
            assert_eq!(starts_with("13.0.88", wanted), expected, "{wanted}");
        };
        check("13", true);
        check("13.0", true);
        check("13.0.88", true);
        check("13.0.8", false);
        check("1", false);
        check("13.1", false);
        for path in [
            "cuda",
            "/13.0",
            "./13.0",
            "cuda-13.0",
            "13.0.",
            "",
            "1.2.3.4",
        ] {
            assert_eq!(version(Path::new(path)), None, "{path}");
        }
    }
}
