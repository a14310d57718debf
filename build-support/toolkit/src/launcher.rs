//! What runs a compiler.

use std::path::PathBuf;

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

#[cfg(test)]
mod tests {
    use super::*;

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
