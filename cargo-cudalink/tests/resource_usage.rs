//! The figures of `inspect` against those of `cuobjdump -res-usage`, for objects, linked images and whole programs.
//!
//! Needs a CUDA toolkit with cuobjdump and a host compiler. Without one the test is skipped, which is a failure where
//! `CI` is set.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use cudalink_toolkit::{Environment, Search, Tool};
use serde_json::Value;

/// What is printed of one function: `REG`, `STACK`, `CONSTANT[0]` and so on.
type Figures = BTreeMap<String, String>;
/// By processor and name. Copies of one local function share a name, so that there may be several.
type Usage = BTreeMap<(String, String), Vec<Figures>>;

/// What the figures of a file are filed under that belong to no function.
const COMMON: &str = "";

struct Tools {
    nvcc: PathBuf,
    cuobjdump: PathBuf,
}

fn tools() -> Result<Tools, String> {
    let environment = Environment::from_process().map_err(|e| e.to_string())?;
    let mut search = Search::new(&environment);
    if let Some(root) = env::var_os("RUSTNVLINK_TEST_TOOLKIT").filter(|root| !root.is_empty()) {
        search = search.explicit(root);
    }
    let toolkit = search.find().map_err(|e| e.to_string())?;
    let tool = |tool| toolkit.tool(tool).map_err(|e| e.to_string());
    Ok(Tools {
        nvcc: tool(Tool::Nvcc)?,
        cuobjdump: tool(Tool::Cuobjdump)?,
    })
}

fn run(program: &Path, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", program.display()));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} {arguments:?}: {errors}",
        program.display()
    );
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// Reads the text of `cuobjdump -res-usage -all`.
fn theirs(text: &str) -> Usage {
    let mut usage = Usage::new();
    let (mut arch, mut function) = (String::new(), None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("arch = ") {
            arch = name.to_owned();
        } else if line == "Common:" {
            function = Some(COMMON.to_owned());
        } else if let Some(name) = line.strip_prefix("Function ") {
            function = Some(name.trim_end_matches(':').to_owned());
        } else if let Some(name) = function.take() {
            let pairs = line.split_whitespace().map(|pair| {
                let (key, value) = pair.split_once(':').expect("KEY:VALUE");
                (key.to_owned(), value.to_owned())
            });
            usage
                .entry((arch.clone(), name))
                .or_default()
                .push(pairs.collect());
        }
    }
    usage
}

fn ours(document: &Value) -> Usage {
    let mut usage = Usage::new();
    let fatbins = document["files"][0]["fatbins"].as_array().expect("fatbins");
    for entry in fatbins
        .iter()
        .flat_map(|f| f["entries"].as_array().expect("entries"))
    {
        let image = &entry["image"];
        if image.is_null() {
            continue;
        }
        let arch = entry["arch"].as_str().expect("a processor");
        let mut add = |name: &str, figures: Figures| {
            usage
                .entry((arch.to_owned(), name.to_owned()))
                .or_default()
                .push(figures);
        };
        let mut common =
            Figures::from([("GLOBAL".to_owned(), image["memory"]["global"].to_string())]);
        constants(&mut common, &image["memory"]["constant"]);
        add(COMMON, common);
        for (list, is_kernel) in [("kernels", true), ("functions", false)] {
            for function in image[list].as_array().expect(list) {
                // cuobjdump counts the copies inside of a function's code with that function.
                if function["inside"].is_null() {
                    let name = function["name"].as_str().expect("a name");
                    if name == "_Z8barriersPi" {
                        // Its source names barrier 7; cuobjdump prints no barriers here.
                        assert_eq!(function["barriers"], 8, "{arch}");
                    }
                    add(name, figures(function, is_kernel, arch));
                }
            }
        }
    }
    usage
}

fn figures(function: &Value, is_kernel: bool, arch: &str) -> Figures {
    let number: u32 = arch
        .trim_start_matches("sm_")
        .trim_end_matches(['a', 'f'])
        .parse()
        .expect("a processor");
    // From sm_90 on cuobjdump reads no register counts of device functions and prints 0; `.nv.info` has them.
    let registers = if is_kernel || number < 90 {
        function["registers"].to_string()
    } else {
        assert!(
            function["registers"]
                .as_u64()
                .is_some_and(|count| count > 0)
        );
        "0".to_owned()
    };
    let stack = if function["stack"]["unbounded"] == true {
        "UNKNOWN".to_owned()
    } else {
        function["stack"]["minimum"]
            .as_u64()
            .unwrap_or(0)
            .to_string()
    };
    let mut figures = Figures::from([("REG".to_owned(), registers), ("STACK".to_owned(), stack)]);
    for (key, field) in [
        ("SHARED", "shared"),
        ("LOCAL", "local"),
        ("TEXTURE", "textures"),
        ("SURFACE", "surfaces"),
        ("SAMPLER", "samplers"),
    ] {
        figures.insert(key.to_owned(), function[field].to_string());
    }
    constants(&mut figures, &function["constant"]);
    figures
}

fn constants(figures: &mut Figures, banks: &Value) {
    for (bank, size) in banks.as_object().expect("constant banks") {
        figures.insert(format!("CONSTANT[{bank}]"), size.to_string());
    }
}

fn compare(file: &str, tools: &Tools, folder: &Path) {
    // Without -all the relocatable objects of a program are not listed; we list them always.
    let theirs = theirs(&run(
        &tools.cuobjdump,
        &["-res-usage", "-all", file],
        folder,
    ));
    let program = Path::new(env!("CARGO_BIN_EXE_cargo-cudalink"));
    let document = run(program, &["inspect", "--format", "json", file], folder);
    let ours = ours(&serde_json::from_str(&document).expect("one JSON document"));
    assert!(
        theirs.len() > 20,
        "{file}: too little to compare: {theirs:?}"
    );
    assert_eq!(
        ours.keys().collect::<Vec<_>>(),
        theirs.keys().collect::<Vec<_>>(),
        "{file}: functions"
    );
    for (key, mut expected) in theirs {
        let mut figures = ours[&key].clone();
        figures.sort();
        expected.sort();
        assert_eq!(figures, expected, "{file}: {key:?}");
    }
}

#[test]
fn figures_are_those_of_cuobjdump() {
    let tools = match tools() {
        Ok(tools) => tools,
        Err(reason) if env::var_os("CI").is_none() => {
            // Not by a macro: of those, what a test that passes prints is not shown.
            writeln!(io::stderr(), "skipped: {reason}").expect("an open stream");
            return;
        }
        Err(reason) => panic!("skipped although CI is set: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inspect");
    for name in ["kernels.cu", "helpers.cu"] {
        fs::copy(sources.join(name), folder.join(name)).expect("the source");
    }
    let processors: Vec<String> = ["75", "80", "90a", "100", "120"]
        .iter()
        .map(|number| format!("-gencode=arch=compute_{number},code=sm_{number}"))
        .collect();
    let nvcc = |arguments: &[&str]| {
        let processors = processors.iter().map(String::as_str);
        let arguments: Vec<&str> = ["--threads=0"]
            .into_iter()
            .chain(processors)
            .chain(arguments.iter().copied())
            .collect();
        run(&tools.nvcc, &arguments, folder);
    };
    nvcc(&["-rdc=true", "-c", "kernels.cu", "-o", "kernels.o"]);
    nvcc(&["-rdc=true", "-c", "helpers.cu", "-o", "helpers.o"]);
    nvcc(&["kernels.o", "helpers.o", "-o", "program"]);
    nvcc(&[
        "-include",
        "helpers.cu",
        "-fatbin",
        "kernels.cu",
        "-o",
        "whole.fatbin",
    ]);
    for file in ["kernels.o", "program", "whole.fatbin"] {
        compare(file, &tools, folder);
    }
}
