//! What cargo knows an image to be made from.
//!
//! rustc writes it down before it links, beside the image, as a rule for make with comments about variables; cargo reads
//! the file when rustc has ended. What is added here makes cargo link again as if the source code had asked for it, and
//! with cargo's own lock held: two builds with different choices come one after the other, and neither touches what the
//! other one has made.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustnvlink::output;

/// Adds a variable with its value, and files. Without cargo there is nothing to add to, and nobody who asks.
pub(crate) fn add(image: &Path, variable: &(String, String), files: &[PathBuf]) -> Result<()> {
    let Some((path, text)) = find(image) else {
        return Ok(());
    };
    let added = with(&text, variable, files);
    output::write(&path, added.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The file with the rules that has one for this image. It has the name of the crate, without what the name of a library
/// begins with.
fn find(image: &Path) -> Option<(PathBuf, String)> {
    let name = image.file_name()?.to_str()?;
    let own_rule = format!("{}:", image.to_str()?);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let names = [Some(name), Some(stem), stem.strip_prefix("lib")];
    names.into_iter().flatten().find_map(|name| {
        let path = image.with_file_name(format!("{name}.d"));
        let text = fs::read_to_string(&path).ok()?;
        let is_own = text.lines().any(|line| line.starts_with(&own_rule));
        is_own.then_some((path, text))
    })
}

/// Cargo takes the files of the first rule.
fn with(text: &str, (name, value): &(String, String), files: &[PathBuf]) -> String {
    let mut added = String::with_capacity(text.len() + 256);
    let mut is_first = true;
    for line in text.lines() {
        added.push_str(line);
        if is_first && line.contains(": ") {
            is_first = false;
            for file in files.iter().map(PathBuf::as_path).filter_map(Path::to_str) {
                added.push(' ');
                added.push_str(&escaped(file));
            }
        }
        added.push('\n');
    }
    added.push_str(&format!("\n# env-dep:{name}={value}\n"));
    added
}

/// As rustc writes the files behind the colon.
fn escaped(path: &str) -> String {
    path.replace(' ', "\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_libraries_get_what_they_depend_on() {
        let folder = tempfile::tempdir().unwrap();
        let variable = ("NAME".to_owned(), "value".to_owned());
        let check = |image: &str, rules: &str| {
            let image = folder.path().join(image);
            let rules = folder.path().join(rules);
            let text = |files: &str| format!("{}: a.rs{files}\n\na.rs:\n", image.display());
            fs::write(&rules, text("")).unwrap();
            add(&image, &variable, &["/x/my file.a".into()]).unwrap();
            let expected = text(" /x/my\\ file.a") + "\n# env-dep:NAME=value\n";
            assert_eq!(fs::read_to_string(&rules).unwrap(), expected);
        };
        check("app-1", "app-1.d");
        check("libplugin.so", "plugin.d");
        check("libplugin-1.so", "plugin-1.d");
    }

    #[test]
    fn rules_for_something_else_stay() {
        let folder = tempfile::tempdir().unwrap();
        let variable = ("NAME".to_owned(), "value".to_owned());
        let rules = folder.path().join("app.d");
        fs::write(&rules, "libapp.rlib: a.rs\n").unwrap();
        add(&folder.path().join("app"), &variable, &[]).unwrap();
        add(&folder.path().join("other"), &variable, &[]).unwrap();
        assert_eq!(fs::read_to_string(&rules).unwrap(), "libapp.rlib: a.rs\n");
    }
}
