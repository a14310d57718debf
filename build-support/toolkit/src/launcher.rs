//! What runs a compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Takes a compiler that a user has chosen with what runs it, such as `ccache nvcc`, apart: the words before the last
/// one, and that.
pub fn launched(chosen: PathBuf) -> (Vec<PathBuf>, PathBuf) {
    let words = match chosen.to_str() {
        // A blank may be one of the path.
        Some(text) if !chosen.is_file() => shlex::split(text).unwrap_or_default(),
        _ => Vec::new(),
    };
    let mut words: Vec<PathBuf> = words.into_iter().map(PathBuf::from).collect();
    let compiler = words.pop().unwrap_or(chosen);
    (words, compiler)
}

/// Runs a compiler by what runs it.
pub fn command(launcher: &[PathBuf], compiler: &Path) -> Command {
    match launcher.split_first() {
        Some((launcher, words)) => {
            let mut command = Command::new(launcher);
            command.args(words).arg(compiler);
            command
        }
        None => Command::new(compiler),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_stand_behind_what_runs_them() {
        let check = |chosen: &str| {
            let (launcher, compiler) = launched(chosen.into());
            let command = command(&launcher, &compiler);
            let words = [command.get_program()]
                .into_iter()
                .chain(command.get_args());
            let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), chosen);
        };
        check("nvcc");
        check("env A=b ccache nvcc");
    }

    #[test]
    fn blanks_are_between_words_unless_a_file_has_them() {
        let check = |chosen: PathBuf, launcher: &[&str], compiler: &str| {
            let launcher = launcher.iter().map(PathBuf::from).collect();
            assert_eq!(launched(chosen), (launcher, compiler.into()));
        };
        check("nvcc".into(), &[], "nvcc");
        check("ccache nvcc".into(), &["ccache"], "nvcc");
        check(
            "env 'A=b c' /cuda/nvcc".into(),
            &["env", "A=b c"],
            "/cuda/nvcc",
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my nvcc");
        std::fs::write(&path, "").unwrap();
        let text = path.to_str().unwrap().to_owned();
        check(path, &[], &text);
    }
}
