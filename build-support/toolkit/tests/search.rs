//! The order of places, and what is said about each, in folders made for the test.

#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use cudalink_toolkit::{Environment, Origin, Refusal, Search, Tool, Toolkit, Version};
use tempfile::TempDir;

/// A scratch folder with toolkits in it.
struct Machine {
    folder: TempDir,
    environment: Environment,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder can be made");
        let environment = Environment {
            current_dir: folder.path().to_owned(),
            ..Environment::default()
        };
        Self {
            folder,
            environment,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a toolkit that tells its version without running anything.
    fn toolkit(&self, name: &str) -> PathBuf {
        let root = self.path(name);
        program(&root.join("bin/nvcc"));
        program(&root.join("bin/ptxas"));
        write(
            &root.join("version.json"),
            r#"{"cuda_nvcc": {"name": "CUDA NVCC", "version": "13.0.88"}}"#,
        );
        root
    }

    /// Puts a Python on `PATH` that names this folder as the one of its packages.
    fn python(&mut self, site_packages: &Path) {
        let bin = self.path("python/bin");
        write(
            &bin.join("answer"),
            &format!("{}\n", site_packages.display()),
        );
        stand_in("python3", &bin);
        self.environment.path = Some(OsString::from(bin));
    }

    /// The toolkit in this folder, which a variable names.
    fn find(&mut self, root: &Path) -> Toolkit {
        self.environment.cuda_home = Some(root.to_owned());
        let found = Search::new(&self.environment).find();
        found.expect("it is there")
    }

    fn found(&self) -> Vec<(Origin, PathBuf)> {
        let survey = Search::new(&self.environment).survey();
        survey
            .found
            .iter()
            .map(|toolkit| (toolkit.origin(), toolkit.root().to_owned()))
            .collect()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("paths of tests have a parent"))
        .expect("the scratch folder is writable");
    fs::write(path, text).expect("the scratch folder is writable");
}

/// Makes a file that can be run, though no test does.
fn program(path: &Path) {
    write(path, "");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

/// Links a stand-in. One that a test writes itself may be busy while another test starts a program.
fn stand_in(name: &str, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/stand-in")
        .join(name);
    fs::create_dir_all(folder).expect("the scratch folder is writable");
    symlink(script, folder.join(name)).expect("the scratch folder is writable");
}

#[test]
fn places_are_searched_in_the_documented_order() {
    let mut machine = Machine::new();
    let home = machine.toolkit("home");
    let path = machine.toolkit("path");
    let on_path = machine.toolkit("on-path");
    let system = machine.toolkit("system/cuda");
    let newer = machine.toolkit("system/cuda-13.10");
    let older = machine.toolkit("system/cuda-13.9");
    let venv = machine.toolkit("venv/lib/python3.12/site-packages/nvidia/cu13");
    let packages = machine.toolkit("packages/nvidia/cu13");
    let made_for = machine.toolkit("cache/toolkits/13.0.88");
    let newest = machine.toolkit("cache/toolkits/13.10.1");
    let second = machine.toolkit("cache/toolkits/13.9.1");
    for root in [&venv, &packages] {
        write(&root.join("include/cuda_runtime.h"), "");
    }
    machine.python(&machine.path("packages"));
    let python = machine.environment.path.take().expect("it was just set");
    let environment = &mut machine.environment;
    environment.cuda_home = Some(home.clone());
    environment.cuda_path = Some(path.clone());
    environment.path =
        Some(std::env::join_paths([on_path.join("bin"), python.into()]).expect("no colons"));
    environment.system_folders = vec![system.clone(), system.with_file_name("cuda-*")];
    environment.virtual_env = Some(machine.folder.path().join("venv"));
    environment.cache = Some(machine.folder.path().join("cache"));

    let on_path = fs::canonicalize(on_path).expect("it exists");
    let expected = [
        (Origin::Variable("CUDA_HOME"), home),
        (Origin::Variable("CUDA_PATH"), path),
        (Origin::Path, on_path),
        (Origin::System, system),
        (Origin::System, newer),
        (Origin::System, older),
        (Origin::SitePackages, venv),
        (Origin::Cache, made_for),
        (Origin::Cache, newest),
        (Origin::Cache, second),
        (Origin::SitePackages, packages),
    ];
    assert_eq!(machine.found(), expected);
    let chosen = Search::new(&machine.environment)
        .find()
        .expect("there are eleven");
    assert_eq!(chosen.origin(), Origin::Variable("CUDA_HOME"));
}

#[test]
fn packages_without_headers_come_last() {
    let mut machine = Machine::new();
    let bare = machine.toolkit("venv/lib/python3.12/site-packages/nvidia/cu13");
    let whole = machine.toolkit("cache/toolkits/13.0.88");
    machine.environment.virtual_env = Some(machine.path("venv"));
    assert_eq!(machine.found(), [(Origin::SitePackages, bare.clone())]);
    machine.environment.cache = Some(machine.path("cache"));
    let expected = [(Origin::Cache, whole), (Origin::SitePackages, bare.clone())];
    assert_eq!(machine.found(), expected);
    let chosen = Search::new(&machine.environment)
        .find()
        .expect("there is one");
    let mut passed_over = chosen.passed_over().iter();
    let refused = passed_over.find(|attempt| attempt.place.as_ref() == Some(&bare));
    let lacks = Refusal::Lacks("include/cuda_runtime.h".into());
    assert_eq!(refused.map(|attempt| &attempt.refusal), Some(&lacks));
}

#[test]
fn a_named_folder_is_the_only_place() {
    let mut machine = Machine::new();
    machine.environment.cuda_home = Some(machine.toolkit("home"));
    let named = machine.toolkit("named");
    // A relative name is meant relative to the current folder.
    let toolkit = Search::new(&machine.environment)
        .explicit("named")
        .find()
        .expect("it is there");
    assert_eq!(
        (toolkit.origin(), toolkit.root()),
        (Origin::Option, named.as_path())
    );

    let error = Search::new(&machine.environment)
        .explicit("missing")
        .find()
        .expect_err("it is not there");
    assert_eq!(error.tried.len(), 1);
    assert_eq!(error.tried[0].refusal, Refusal::NoFolder);
    assert!(
        error
            .to_string()
            .contains("name the folder of a toolkit, which holds bin/nvcc"),
        "{error}"
    );
    let error = Search::new(&machine.environment)
        .explicit("named/bin/nvcc")
        .find()
        .expect_err("it is a file");
    assert_eq!(error.tried[0].refusal, Refusal::File);
}

#[test]
fn links_on_path_lead_to_the_root() {
    let mut machine = Machine::new();
    let root = machine.toolkit("opt/cuda-13.0");
    let bin = machine.path("usr/bin");
    fs::create_dir_all(&bin).expect("the scratch folder is writable");
    symlink(root.join("bin/nvcc"), bin.join("nvcc")).expect("the scratch folder is writable");
    // A compiler cache under the compiler's name comes first and is passed over.
    let masked = machine.path("usr/lib/ccache");
    program(&machine.path("usr/libexec/ccache"));
    fs::create_dir_all(&masked).expect("the scratch folder is writable");
    symlink(machine.path("usr/libexec/ccache"), masked.join("nvcc"))
        .expect("the scratch folder is writable");
    machine.environment.path = Some(std::env::join_paths([masked, bin]).expect("no colons"));

    let toolkit = Search::new(&machine.environment)
        .find()
        .expect("it is there");
    assert_eq!(toolkit.root(), fs::canonicalize(root).expect("it exists"));
    let passed_over: Vec<Origin> = toolkit
        .passed_over()
        .iter()
        .map(|attempt| attempt.origin)
        .collect();
    assert_eq!(
        passed_over,
        [
            Origin::Variable("CUDA_HOME"),
            Origin::Variable("CUDA_PATH"),
            Origin::Path
        ]
    );
}

#[test]
fn the_error_names_every_place_and_what_helps() {
    let mut machine = Machine::new();
    program(&machine.path("partial/bin/nvcc"));
    program(&machine.path("split/nvidia/cuda_nvcc/bin/ptxas"));
    machine.python(&machine.path("split"));
    machine.environment.cuda_path = Some("partial".into());
    machine.environment.system_folders =
        vec![machine.path("system/cuda"), machine.path("system/cuda-*")];
    machine.environment.cache = Some(machine.path("cache"));

    let error = Search::new(&machine.environment)
        .find()
        .expect_err("no place has a toolkit");
    let folder = machine.folder.path().display().to_string();
    assert_eq!(
        error.to_string().replace(&folder, "M"),
        "no CUDA toolkit found\n  \
           CUDA_HOME: not set\n  \
           CUDA_PATH: M/partial has no bin/ptxas\n  \
           PATH: no nvcc on PATH\n  \
           system folder: M/system/cuda, M/system/cuda-* do not exist\n  \
           cache: M/cache/toolkits does not exist\n  \
           Python packages: M/split/nvidia/cuda_nvcc has no bin/nvcc\n\
         help: `cargo cudalink toolkit install` installs one without root; \
         CUDA_HOME names one that lies elsewhere"
    );
}

#[test]
fn python_is_not_started_where_the_cache_has_a_toolkit() {
    let mut machine = Machine::new();
    let root = machine.toolkit("cache/toolkits/13.0.88");
    // It has no answer, which would be told.
    stand_in("python3", &machine.path("bin"));
    machine.environment.path = Some(machine.path("bin").into());
    machine.environment.cache = Some(machine.path("cache"));
    let chosen = Search::new(&machine.environment).find();
    let chosen = chosen.expect("there is one");
    assert_eq!(chosen.root(), root);
    let mut passed_over = chosen.passed_over().iter();
    assert!(passed_over.all(|attempt| attempt.origin != Origin::SitePackages));
}

#[test]
fn a_python_that_does_not_answer_is_reported() {
    let mut machine = Machine::new();
    // Without the file `answer` the stand-in fails.
    let bin = machine.path("bin");
    stand_in("python3", &bin);
    machine.environment.path = Some(OsString::from(bin));
    let error = Search::new(&machine.environment)
        .find()
        .expect_err("no place has a toolkit");
    let attempt = error
        .tried
        .iter()
        .find(|attempt| attempt.origin == Origin::SitePackages)
        .expect("it was asked");
    assert!(
        matches!(&attempt.refusal, Refusal::Python(reason) if reason.contains("answer")),
        "{attempt}"
    );
}

#[test]
fn python_is_asked_once() {
    let mut machine = Machine::new();
    let root = machine.toolkit("packages/nvidia/cu13");
    write(&root.join("include/cuda_runtime.h"), "");
    machine.python(&machine.path("packages"));
    let expected = vec![(Origin::SitePackages, root)];
    assert_eq!(machine.found(), expected);
    // Without it, the stand-in would fail.
    fs::remove_file(machine.path("python/bin/answer")).expect("the file is ours");
    assert_eq!(machine.found(), expected);
}

#[test]
fn a_file_that_cannot_be_run_is_no_tool() {
    let mut machine = Machine::new();
    let root = machine.toolkit("home");
    fs::set_permissions(root.join("bin/nvcc"), fs::Permissions::from_mode(0o644))
        .expect("the file is ours");
    machine.environment.cuda_home = Some(root);
    let error = Search::new(&machine.environment)
        .find()
        .expect_err("nvcc cannot be run");
    assert_eq!(error.tried[0].refusal, Refusal::Lacks("bin/nvcc".into()));
}

#[test]
fn one_toolkit_is_listed_once() {
    let mut machine = Machine::new();
    let root = machine.toolkit("cuda-13.0");
    let link = machine.path("cuda");
    symlink(&root, &link).expect("the scratch folder is writable");
    machine.environment.cuda_home = Some(link.clone());
    machine.environment.system_folders = vec![root];
    assert_eq!(machine.found(), [(Origin::Variable("CUDA_HOME"), link)]);
}

#[test]
fn nvcc_is_asked_for_the_version_once() {
    let mut machine = Machine::new();
    let root = machine.path("home");
    stand_in("nvcc", &root.join("bin"));
    program(&root.join("bin/ptxas"));
    let toolkit = machine.find(&root);
    let calls = root.join("bin/calls");
    assert!(!calls.exists(), "finding a toolkit runs nothing");
    for _ in 0..2 {
        assert_eq!(
            toolkit.version().expect("it answers"),
            &Version::new(13, 1, 115)
        );
    }
    assert_eq!(fs::read_to_string(calls).expect("it was asked"), "asked\n");
}

#[test]
fn parts_are_found_in_every_layout() {
    let target = if cfg!(target_arch = "aarch64") {
        "targets/sbsa-linux"
    } else {
        "targets/x86_64-linux"
    };
    let installer = [
        "include",
        "lib64",
        "nvvm/lib64/libnvvm.so",
        "lib64/libnvJitLink.so",
        "nvvm/bin/cicc",
    ];
    let conda_include = format!("{target}/include");
    let conda_lib = format!("{target}/lib");
    let conda_link = format!("{target}/lib/libnvJitLink.so.13");
    let conda = [
        &conda_include,
        &conda_lib,
        "nvvm/lib64/libnvvm.so.4",
        &conda_link,
        "nvvm/bin/cicc",
    ];
    let packages = [
        "include",
        "lib",
        "lib/libnvvm.so.4",
        "lib/libnvJitLink.so.13",
        "nvvm/bin/cicc",
    ];
    for [include, lib, nvvm, link, cicc] in [installer, conda, packages] {
        let mut machine = Machine::new();
        let root = machine.toolkit("home");
        let toolkit = machine.find(&root);
        let error = toolkit
            .tool(Tool::Cicc)
            .expect_err("it is not there yet")
            .to_string();
        assert!(
            error.contains("has no cicc; looked for") && error.contains("toolkit install"),
            "{error}"
        );

        let runtime = format!("{lib}/libcudadevrt.a");
        let header = format!("{include}/cuda_runtime.h");
        for file in [&header, &runtime, nvvm, link] {
            write(&root.join(file), "");
        }
        program(&root.join(cicc));
        for (found, expected) in [
            (toolkit.include_dir(), include),
            (toolkit.lib_dir(), lib),
            (toolkit.libcudadevrt(), &runtime),
            (toolkit.libnvvm(), nvvm),
            (toolkit.libnvjitlink(), link),
            (toolkit.tool(Tool::Cicc), cicc),
        ] {
            assert_eq!(found.expect("it is there"), root.join(expected));
        }
    }
}

#[test]
fn links_take_what_the_toolkit_has_or_say_what_it_lacks() {
    let mut machine = Machine::new();
    let root = machine.toolkit("home");
    let toolkit = machine.find(&root);
    let programs = |optimizes| {
        let found = toolkit.link_programs(optimizes);
        found.map(|programs| (programs.ptxas, programs.libnvjitlink))
    };
    let ptxas = root.join("bin/ptxas");
    assert_eq!(
        programs(false).expect("ptxas is there"),
        (ptxas.clone(), None)
    );
    let error = programs(true).expect_err("it is not there yet").to_string();
    assert!(error.contains("has no libnvJitLink.so"), "{error}");
    let library = root.join("lib64/libnvJitLink.so");
    write(&library, "");
    assert_eq!(
        programs(true).expect("both are there"),
        (ptxas, Some(library))
    );
}
