//! What cargo knows an image to be made from.
//!
//! rustc writes it down before it links, beside the image, as a rule for make with comments about variables; cargo reads
//! the file when rustc has ended. What is added here makes cargo link again as if the source code had asked for it, and
//! with cargo's own lock held: two builds with different choices come one after the other, and neither touches what the
//! other one has made.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustnvlink::container::{InputKind, detect};
use rustnvlink::output;

use crate::plan::Tracked;

/// Adds a variable with its value, and files. Without cargo there is nothing to add to, and nobody who asks.
pub(crate) fn add(image: &Path, variable: &(String, String), files: &[PathBuf]) -> Result<()> {
    let Some((path, text)) = find(image) else {
        return Ok(());
    };
    let added = with(&text, variable, files);
    output::write(&path, added.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The images below cargo's folder that have linked device code, by what they [depend](add) on.
pub(crate) fn linked_images(build: &Path) -> Vec<PathBuf> {
    let mut images = Vec::new();
    let mut folders = vec![build.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && path.extension() == Some("d".as_ref()) => {
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    images.extend(images_of(&text));
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    images
}

/// The programs and shared libraries among what rules are for, where these say that an image depends on choices. Beside
/// them stand libraries that rustc makes of the same crate.
fn images_of(text: &str) -> Vec<PathBuf> {
    let choices = format!("# env-dep:{}", Tracked::Everything.variables());
    if !text.lines().any(|line| line.starts_with(&choices)) {
        return Vec::new();
    }
    let made = text.lines().filter_map(|line| line.split_once(": "));
    made.map(|(path, _)| PathBuf::from(path))
        .filter(|path| is_image(path))
        .collect()
}

fn is_image(path: &Path) -> bool {
    use InputKind::{HostExecutable, SharedLibrary};
    fs::read(path).is_ok_and(|data| matches!(detect(&data), HostExecutable | SharedLibrary))
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
    fn images_with_linked_code_are_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("debug/my deps")).unwrap();
        let program = std::env::current_exe().unwrap();
        for image in ["app", "tool"] {
            std::os::unix::fs::symlink(&program, at("debug/my deps").join(image)).unwrap();
        }
        fs::write(at("debug/my deps/libapp.rlib"), "!<arch>\n").unwrap();
        let rules = |name: &str, variable: &str| {
            let names = [".d", "", ".rlib"].map(|end| format!("debug/my deps/{name}{end}"));
            let rules = names.map(|name| format!("{}: a.rs\n\n", at(&name).display()));
            let text = format!("{}a.rs:\n\n# env-dep:{variable}=1\n", rules.concat());
            fs::write(at(&format!("debug/my deps/{name}.d")), text).unwrap();
        };
        rules("app", "CUDALINK_CHOICES_OTHERS");
        rules("tool", "CUDALINK_FILES_OTHERS");
        assert_eq!(linked_images(folder.path()), [at("debug/my deps/app")]);
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
