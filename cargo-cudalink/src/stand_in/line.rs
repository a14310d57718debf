//! The command line of a host linker, as far as device code is concerned: which files go in, and what comes out.
//!
//! Compilers that link (`cc`, `clang`) and linkers proper are both understood. An option that is not known may have a
//! value that looks like an input; that does no harm, because only files with device code count.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memchr::memmem;
use rustnvlink::container::host::Machine;
use rustnvlink::host::HostMachine;

/// Response files that name response files: more than this deep is a circle.
const MAX_DEPTH: usize = 16;

/// The name of the driver's library behind `-l`.
const DRIVER: &str = "cuda";

/// What a command line says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkLine {
    /// What is made.
    pub(crate) output: Option<PathBuf>,
    /// Whether that is an object, which is linked again.
    pub(crate) relocatable: bool,
    /// What goes in, in order.
    inputs: Vec<Input>,
    /// Where libraries are looked for.
    folders: Vec<PathBuf>,
    /// Which symbols a shared library shows.
    version_scripts: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
enum Input {
    File(PathBuf),
    Library { name: String, only_static: bool },
}

impl LinkLine {
    /// Reads a command line with its response files.
    pub(crate) fn parse(arguments: &[OsString]) -> Result<Self> {
        let words = expanded(arguments)?;
        let mut line = Self::default();
        let mut only_static = false;
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            line.word(&word, &mut words, &mut only_static);
        }
        Ok(line)
    }

    fn word(
        &mut self,
        word: &OsStr,
        rest: &mut dyn Iterator<Item = OsString>,
        only_static: &mut bool,
    ) {
        // Paths need not be text; options are.
        let text = word.to_string_lossy();
        if !text.starts_with('-') {
            self.inputs.push(Input::File(word.into()));
            return;
        }
        let mut value = |attached: &str| match attached {
            "" => rest.next(),
            attached => Some(attached.into()),
        };
        if let Some(packed) = text.strip_prefix("-Wl,") {
            let mut parts = packed.split(',').map(OsString::from);
            while let Some(part) = parts.next() {
                self.word(&part, &mut parts, only_static);
            }
        } else if &*text == "-Xlinker" {
            if let Some(word) = rest.next() {
                self.word(&word, rest, only_static);
            }
        } else if &*text == "-o" || &*text == "--output" {
            self.output = rest.next().map(PathBuf::from);
        } else if let Some(path) = text.strip_prefix("--output=") {
            self.output = Some(path.into());
        } else if let Some(path) = text.strip_prefix("--version-script=") {
            self.version_scripts.push(path.into());
        } else if let Some(folder) = text.strip_prefix("--library-path=") {
            self.folders.push(folder.into());
        } else if let Some(folder) = text.strip_prefix("-L") {
            self.folders.extend(value(folder).map(PathBuf::from));
        } else if let Some(name) = text
            .strip_prefix("--library=")
            .or_else(|| text.strip_prefix("-l"))
        {
            if let Some(name) = value(name) {
                self.inputs.push(Input::Library {
                    name: name.to_string_lossy().into_owned(),
                    only_static: *only_static,
                });
            }
        } else {
            match &*text {
                "-r" | "-i" | "--relocatable" => self.relocatable = true,
                "-Bstatic" | "-static" | "-static-pie" | "-dn" | "-non_shared" => {
                    *only_static = true;
                }
                "-Bdynamic" | "-dy" | "-call_shared" => *only_static = false,
                _ => {}
            }
        }
    }

    /// The files that go in, each once.
    pub(crate) fn files(&self, further_folders: &[PathBuf]) -> Vec<PathBuf> {
        let mut known = HashSet::new();
        let found = self.inputs.iter().filter_map(|input| match input {
            Input::File(path) => path.is_file().then(|| path.clone()),
            Input::Library { name, only_static } => {
                let mut folders = self.folders.iter().chain(further_folders);
                folders.find_map(|folder| library(folder, name, *only_static))
            }
        });
        found
            .filter(|path| known.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())))
            .collect()
    }

    /// The static libraries in folders below this one that are looked into for others.
    pub(crate) fn libraries_left_out(&self, build: &Path) -> Vec<PathBuf> {
        let mut known: HashSet<PathBuf> = self.files(&[]).into_iter().collect();
        let folders = self.folders.iter().filter(|path| path.starts_with(build));
        let mut found: Vec<PathBuf> = folders
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "a"))
            .collect();
        found.sort();
        found.retain(|path| known.insert(path.clone()));
        found
    }

    /// Whether the CUDA runtime goes in.
    pub(crate) fn names_runtime(&self) -> bool {
        self.inputs.iter().any(|input| match input {
            Input::File(path) => path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("libcudart")),
            Input::Library { name, .. } => is_runtime(name),
        })
    }

    /// Whether the CUDA runtime is named, and none for this machine is where the host linker looks for it.
    pub(crate) fn lacks_runtime(&self, further_folders: &[PathBuf], machine: &str) -> bool {
        self.lacks(is_runtime, further_folders, machine)
    }

    /// The same of the library of the driver.
    pub(crate) fn lacks_driver(&self, further_folders: &[PathBuf], machine: &str) -> bool {
        self.lacks(|name| name == DRIVER, further_folders, machine)
    }

    /// The same of libraries of these names.
    pub(crate) fn lacks(
        &self,
        is_meant: impl Fn(&str) -> bool,
        further_folders: &[PathBuf],
        machine: &str,
    ) -> bool {
        self.inputs.iter().any(|input| match input {
            Input::File(_) => false,
            Input::Library { name, only_static } => {
                let folders = self.folders.iter().chain(further_folders);
                let mut found = folders.filter_map(|folder| library(folder, name, *only_static));
                is_meant(name) && !found.any(|path| is_for(&path, machine))
            }
        })
    }

    /// Whether a library is named that this folder has for this machine, and none where the host linker looks.
    pub(crate) fn needs_folder(
        &self,
        folder: &Path,
        further_folders: &[PathBuf],
        machine: &str,
    ) -> bool {
        self.inputs.iter().any(|input| match input {
            Input::File(_) => false,
            Input::Library { name, only_static } => {
                let has = |folder: &Path| {
                    library(folder, name, *only_static).is_some_and(|path| is_for(&path, machine))
                };
                let mut looked_in = self.folders.iter().chain(further_folders);
                has(folder) && !looked_in.any(|folder| has(folder))
            }
        })
    }

    /// Whether this is a program that rustc makes to run tests: it has the library that runs them.
    pub(crate) fn is_test_harness(&self) -> bool {
        self.inputs.iter().any(|input| match input {
            Input::File(path) => path.file_name().is_some_and(|name| {
                let name = name.to_string_lossy();
                name.starts_with("libtest-") && name.ends_with(".rlib")
            }),
            Input::Library { .. } => false,
        })
    }

    /// Whether this is a procedural macro, which runs inside the compiler.
    pub(crate) fn is_procedural_macro(&self) -> bool {
        self.version_scripts.iter().any(|script| {
            fs::read_to_string(script).is_ok_and(|text| text.contains("__rustc_proc_macro_decls_"))
        })
    }
}

/// Whether `-l` with this name is about the CUDA runtime.
fn is_runtime(name: &str) -> bool {
    name.trim_start_matches(":lib").starts_with("cudart")
}

/// Whether a library is for a machine; linkers pass over others.
fn is_for(library: &Path, machine: &str) -> bool {
    let found = || {
        let data = fs::read(library).ok()?;
        let header = data.get(memmem::find(&data, b"\x7fELF")?..)?;
        let number = u16::from_le_bytes(header.get(18..20)?.try_into().ok()?);
        HostMachine::try_from(Machine(number)).ok()
    };
    // A script for linkers says nothing.
    found().is_none_or(|found| {
        machine
            .parse()
            .is_ok_and(|wanted: HostMachine| wanted == found)
    })
}

/// The archive that a linker takes for a library from this folder. Device code in shared libraries has been linked.
fn library(folder: &Path, name: &str, only_static: bool) -> Option<PathBuf> {
    if let Some(file) = name.strip_prefix(':') {
        return Some(folder.join(file)).filter(|path| path.is_file());
    }
    let shared = folder.join(format!("lib{name}.so"));
    if !only_static && shared.exists() {
        return Some(shared);
    }
    Some(folder.join(format!("lib{name}.a"))).filter(|path| path.is_file())
}

/// Puts the words of response files in their place.
pub(crate) fn expanded(arguments: &[OsString]) -> Result<Vec<OsString>> {
    let mut words = Vec::new();
    expand(arguments, MAX_DEPTH, &mut words)?;
    Ok(words)
}

fn expand(arguments: &[OsString], depth: usize, words: &mut Vec<OsString>) -> Result<()> {
    for argument in arguments {
        let text = argument.to_string_lossy();
        let path = text.strip_prefix('@').map(Path::new);
        // A compiler takes `@name` for a file where there is one.
        let Some(path) = path.filter(|path| path.is_file() && depth > 0) else {
            words.push(argument.clone());
            continue;
        };
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read the response file {}", path.display()))?;
        let inner = shlex::split(&text)
            .with_context(|| format!("the response file {} ends inside quotes", path.display()))?;
        let inner: Vec<OsString> = inner.into_iter().map(OsString::from).collect();
        expand(&inner, depth - 1, words)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> LinkLine {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        LinkLine::parse(&words).unwrap()
    }

    fn file(path: &str) -> Input {
        Input::File(path.into())
    }

    fn archive(name: &str, only_static: bool) -> Input {
        Input::Library {
            name: name.to_owned(),
            only_static,
        }
    }

    #[test]
    fn what_rustc_writes_is_understood() {
        let line = parse(
            "-m64 symbols.o a.rcgu.o -Wl,--as-needed -Wl,-Bstatic libgpub.rlib -lx -Wl,-Bdynamic -lcudart_static \
             -Wl,--whole-archive -Wl,/t/libmm.a -Wl,--no-whole-archive -L out -Lother -fuse-ld=lld -o app-1 -pie",
        );
        let expected = [
            file("symbols.o"),
            file("a.rcgu.o"),
            file("libgpub.rlib"),
            archive("x", true),
            archive("cudart_static", false),
            file("/t/libmm.a"),
        ];
        assert_eq!(line.inputs, expected);
        assert_eq!(line.output, Some("app-1".into()));
        assert_eq!(line.folders, [PathBuf::from("out"), "other".into()]);
        assert!(!line.relocatable);
        let whole = parse("-static-pie -lx");
        assert_eq!(whole.inputs, [archive("x", true)]);
    }

    #[test]
    fn linkers_proper_are_understood() {
        let line = parse("-r -l :odd.a --library=y -Xlinker --output=z.o --library-path=d");
        assert_eq!(line.inputs, [archive(":odd.a", false), archive("y", false)]);
        assert_eq!(line.output, Some("z.o".into()));
        assert_eq!(line.folders, [PathBuf::from("d")]);
        assert!(line.relocatable);
    }

    #[test]
    fn libraries_are_found_as_linkers_find_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["liba.a", "liba.so", "libb.a", "odd.a"] {
            fs::write(path(name), "").unwrap();
        }
        let line = parse("-Wl,-Bstatic -la -Wl,-Bdynamic -la -lb -l:odd.a -lb -lmissing missing.o");
        let files = line.files(&[folder.path().to_owned()]);
        assert_eq!(files, ["liba.a", "liba.so", "libb.a", "odd.a"].map(path));
    }

    #[test]
    fn libraries_beside_those_that_are_linked_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["liba.a", "libb.a", "b.o"] {
            fs::write(path(name), "").unwrap();
        }
        let there = folder.path().display();
        let line = parse(&format!("-L {there} -L {there} -la"));
        assert_eq!(line.libraries_left_out(folder.path()), [path("libb.a")]);
        assert!(line.libraries_left_out(Path::new("/elsewhere")).is_empty());
    }

    #[test]
    fn response_files_may_hold_others_and_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let inner = path("inner");
        fs::write(
            &inner,
            format!("b\\ c.o\n\"-L\"\nd\n@{}\n", inner.display()),
        )
        .unwrap();
        fs::write(
            path("outer"),
            format!("a.o\n@{}\n-o\nout\n", inner.display()),
        )
        .unwrap();
        let line = LinkLine::parse(&[format!("@{}", path("outer").display()).into()]).unwrap();
        assert_eq!(line.inputs[..2], [file("a.o"), file("b c.o")]);
        assert_eq!(line.output, Some("out".into()));
        fs::write(&inner, "'open").unwrap();
        let error = LinkLine::parse(&[format!("@{}", inner.display()).into()]).unwrap_err();
        assert!(error.to_string().contains("inside quotes"), "{error}");
    }

    #[test]
    fn the_runtime_is_known_in_every_spelling() {
        let check = |line: &str, expected| assert_eq!(parse(line).names_runtime(), expected);
        check("a.o -lcudart_static", true);
        check("a.o -l:libcudart.so.13", true);
        check("a.o /cuda/lib64/libcudart.so", true);
        check("a.o -lcuda -lcudadevrt", false);
    }

    #[test]
    fn a_runtime_that_no_folder_has_is_missed() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().display();
        let check = |line: &str, further: &[PathBuf], expected| {
            assert_eq!(parse(line).lacks_runtime(further, "x86_64"), expected);
        };
        let line = format!("a.o -L{there} -lcudart_static");
        check(&line, &[], true);
        check("a.o -lcuda", &[], false);
        assert!(parse("a.o -lcuda").lacks_driver(&[], "x86_64"));
        assert!(!parse(&line).lacks_driver(&[], "x86_64"));
        check("a.o /nonexistent/libcudart.so", &[], false);
        fs::write(folder.path().join("libcudart_static.a"), "").unwrap();
        check(&line, &[], false);
        check("a.o -lcudart_static", &[], true);
        check("a.o -lcudart_static", &[folder.path().into()], false);
        let needs = |line: &str, further: &[PathBuf]| {
            parse(line).needs_folder(folder.path(), further, "x86_64")
        };
        assert!(needs("a.o -lm -lcudart_static", &[]));
        assert!(!needs("a.o -lcudart_static", &[folder.path().into()]));
        assert!(!needs(&line, &[]));
        assert!(!needs("a.o -lm -lcublas", &[]));
        // One for 64-bit Arm.
        let header = [b"!<arch>\n\x7fELF".as_slice(), &[0; 14], &[183, 0]].concat();
        fs::write(folder.path().join("libcudart_static.a"), header).unwrap();
        check(&line, &[], true);
        assert!(!parse(&line).lacks_runtime(&[], "aarch64"));
    }

    #[test]
    fn test_harnesses_are_known_by_their_library() {
        let check = |line: &str, expected| assert_eq!(parse(line).is_test_harness(), expected);
        check("a.o /lib/libtest-0123456789abcdef.rlib -o a", true);
        check(
            "a.o /lib/libtestkit-0123456789abcdef.rlib -ltest-1 -o a",
            false,
        );
    }

    #[test]
    fn procedural_macros_are_known_by_what_they_show() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("list");
        fs::write(
            &script,
            "{ global: __rustc_proc_macro_decls_1__; local: *; };",
        )
        .unwrap();
        let line = format!("-shared -Wl,--version-script={}", script.display());
        assert!(parse(&line).is_procedural_macro());
        fs::write(&script, "{ global: run; local: *; };").unwrap();
        assert!(!parse(&line).is_procedural_macro());
    }
}
