//! House rules that a compiler does not check.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustnvlink::codes;

/// All folders at the top, so that nobody commits scratch files there.
const FOLDERS: [&str; 8] = [
    ".ci",
    "build-support",
    "cargo-cudalink",
    "cmake",
    "docs",
    "examples",
    "linker",
    "tests",
];
/// Longer files are split.
const LONGEST: usize = 620;
/// The phases of a link, in order.
const PHASES: [&str; 7] = [
    "read", "merge", "prune", "layout", "relocate", "finalize", "write",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_built = ["target", "build"].contains(&name.as_str());
        if path.is_dir() && !is_built && !name.starts_with('.') {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn every_source() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    sources(&root(), &mut found);
    assert!(found.len() > 50, "only {} sources found", found.len());
    found
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a readable source");
            (path, text)
        })
        .collect()
}

#[test]
fn top_folders_are_those_of_the_readme() {
    let listed = Command::new("git")
        .args(["ls-files", "--full-name"])
        .current_dir(root())
        .output()
        .expect("git lists the files of the repository");
    assert!(listed.status.success(), "not a clone of the repository");
    let listed = String::from_utf8_lossy(&listed.stdout);
    assert!(listed.contains("tests/tidy.rs"), "{listed}");
    for path in listed.lines() {
        if let Some((folder, _)) = path.split_once('/') {
            assert!(FOLDERS.contains(&folder), "{path} is in no known folder");
        }
    }
}

#[test]
fn packages_bring_their_licences() {
    let asked = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .expect("cargo tells of the packages");
    let metadata: serde_json::Value = serde_json::from_slice(&asked.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let published = packages.iter().filter(|p| p["publish"].is_null());
    let mut names = Vec::new();
    for package in published {
        names.push(package["name"].as_str().expect("a name"));
        let manifest = package["manifest_path"].as_str().expect("a path");
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let theirs = std::fs::read(Path::new(manifest).with_file_name(file));
            let ours = std::fs::read(root().join(file)).expect(file);
            assert_eq!(theirs.ok(), Some(ours), "{file} beside {manifest}");
        }
        for field in ["description", "readme", "repository", "rust_version"] {
            assert!(package[field].is_string(), "{manifest} has no {field}");
        }
        let categories = package["categories"].as_array().map(Vec::len);
        assert_ne!(categories, Some(0), "{manifest} has no categories");
    }
    assert!(
        names.contains(&"rustnvlink") && names.len() < packages.len(),
        "{names:?}"
    );
}

#[test]
fn files_are_short_enough_to_hold_in_mind() {
    for (path, text) in every_source() {
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{}: {lines} lines", path.display());
    }
}

#[test]
fn every_file_says_what_it_is() {
    for (path, text) in every_source() {
        let is_documented = text.starts_with("//!") || text.starts_with("#![");
        assert!(is_documented, "{} does not begin with //!", path.display());
    }
}

#[test]
fn line_endings_are_unix() {
    for (path, text) in every_source() {
        assert!(!text.contains('\r'), "{}", path.display());
    }
}

#[test]
fn phases_look_back_only() {
    for (position, phase) in PHASES.iter().enumerate() {
        let folder = root().join("linker/src").join(phase);
        let mut files = vec![folder.with_extension("rs")];
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
        for path in files {
            let text = std::fs::read_to_string(&path).expect("a readable source");
            for later in &PHASES[position + 1..] {
                let use_of = format!("crate::{later}::");
                assert!(!text.contains(&use_of), "{} uses {later}", path.display());
            }
        }
    }
}

#[test]
fn the_library_does_without_its_command_line() {
    let mut files = Vec::new();
    sources(&root().join("linker/src"), &mut files);
    files.retain(|path| !path.components().any(|part| part.as_os_str() == "cli"));
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable source");
        assert!(!text.contains("crate::cli"), "{}", path.display());
    }
}

#[test]
fn every_code_of_messages_is_said() {
    let mut files = Vec::new();
    sources(&root().join("linker/src"), &mut files);
    files.retain(|path| !path.ends_with("codes.rs"));
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("a readable source");
    let texts: String = files.iter().map(read).collect();
    for code in codes::ALL {
        let constant = code.as_str().replace('-', "_").to_uppercase();
        assert!(texts.contains(&constant), "no message has {code}");
    }
}
