//! Device code that CMake has compiled below a build script, for links that lack a processor.
//!
//! CMake learns the processors when it runs first, and keeps them in its folder: whoever chooses others later has to let it
//! begin anew.

use std::collections::BTreeSet;
use std::path::Path;

use rustnvlink::codes::{self, Code};
use rustnvlink::device_link::Linked;

use super::left_out::package;

/// The codes of messages that name inputs without code for a processor.
pub(super) const LACKING: [Code; 2] = [codes::MISSING_ARCH_CODE, codes::PROCESSOR_LEFT_OUT];

/// What to do where CMake has compiled something, and not for a processor of the link.
pub(super) fn help(linked: &Linked) -> Option<String> {
    let messages = linked.messages.iter().map(|message| &message.diagnostic);
    let lacking: Vec<&str> = messages
        .filter(|diagnostic| LACKING.contains(&diagnostic.code))
        .flat_map(|diagnostic| [Some(&*diagnostic.text), diagnostic.detail.as_deref()])
        .flatten()
        .collect();
    let files = linked.files.iter().filter(|file| {
        let quoted = format!("'{file}'");
        lacking.iter().any(|text| text.contains(&quoted))
    });
    let packages: BTreeSet<&str> = files
        .map(Path::new)
        .filter(|file| is_of_cmake(file))
        .filter_map(package)
        .collect();
    let options: Vec<String> = packages.iter().map(|name| format!("-p {name}")).collect();
    (!options.is_empty()).then(|| {
        format!(
            "CMake keeps the processors of its first run: `cargo clean {}` lets it begin anew",
            options.join(" ")
        )
    })
}

/// Whether CMake builds in a folder above a file.
fn is_of_cmake(file: &Path) -> bool {
    let mut folders = file.ancestors().skip(1);
    folders.any(|folder| folder.join("CMakeCache.txt").is_file())
}

#[cfg(test)]
mod tests {
    use rustnvlink::device_link::Message;
    use rustnvlink::diagnostic::{Diagnostic, Severity};

    use super::*;

    #[test]
    fn packages_that_cmake_has_built_for_others_are_named() {
        let target = tempfile::tempdir().unwrap();
        let place = |name: &str| target.path().join("build").join(name);
        let with_cmake = place("by-cmake-0123456789abcdef/out/build");
        std::fs::create_dir_all(&with_cmake).unwrap();
        std::fs::write(with_cmake.join("CMakeCache.txt"), "").unwrap();
        let files = [
            with_cmake.join("src/libk.a:k.cu.o"),
            place("by-cc-0123456789abcdef/out/libc.a:c.o"),
        ];
        let files = files.map(|file| file.display().to_string());
        let check = |code: Code, detail: Option<&str>, expected: Option<&str>| {
            let messages = files.iter().map(|file| {
                let named = format!("'{file}' {}", detail.unwrap_or_default());
                let diagnostic = match detail {
                    Some(_) => {
                        Diagnostic::new(Severity::Warning, code, "nothing is linked for sm_80")
                            .with_detail(named)
                    }
                    None => {
                        let text = format!("SM Arch ('sm_80') not found in {named}");
                        Diagnostic::new(Severity::Warning, code, text)
                    }
                };
                Message::new(None, diagnostic)
            });
            let mut linked = Linked::default();
            linked.files = files.to_vec();
            linked.messages = messages.collect();
            assert_eq!(help(&linked).as_deref(), expected);
        };
        let expected = "CMake keeps the processors of its first run: `cargo clean -p by-cmake` lets it begin anew";
        check(codes::MISSING_ARCH_CODE, None, Some(expected));
        let others = Some("has code for others only");
        check(codes::PROCESSOR_LEFT_OUT, others, Some(expected));
        check(codes::IGNORED_INPUT, None, None);
    }
}
