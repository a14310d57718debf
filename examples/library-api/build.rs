//! Compiles `device/*.cu` for several processors, and lists the objects for the program to include.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use cudalink_toolkit::{Environment, Search, Tool};

const SOURCES: [&str; 3] = ["integrate", "circle", "cosine"];
const PROCESSORS: &str = "75;80;90;100;120";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=device");
    for variable in ["CUDAARCHS", "CUDA_HOME", "CUDA_PATH", "PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let environment = Environment::from_process()?;
    let nvcc = Search::new(&environment).find()?.tool(Tool::Nvcc)?;
    let processors = env::var("CUDAARCHS").unwrap_or_else(|_| PROCESSORS.to_owned());
    let out = env::var("OUT_DIR")?;
    let mut table = String::from("&[\n");
    for processor in processors.split(';') {
        let number: u32 = processor
            .parse()
            .map_err(|_| format!("CUDAARCHS holds {processor}, which is no number"))?;
        for source in SOURCES {
            let object = Path::new(&out).join(format!("{source}.sm_{number}.cubin"));
            let status = Command::new(&nvcc)
                .args(["-rdc=true", "-cubin"])
                .arg(format!("-arch=sm_{number}"))
                .arg(format!("device/{source}.cu"))
                .arg("-o")
                .arg(&object)
                .status()
                .map_err(|e| format!("{}: {e}", nvcc.display()))?;
            if !status.success() {
                return Err(format!("nvcc does not compile {source}.cu for sm_{number}").into());
            }
            writeln!(
                table,
                "    ({source:?}, {number}, include_bytes!({object:?})),"
            )?;
        }
    }
    table.push(']');
    fs::write(Path::new(&out).join("objects.rs"), table)?;
    Ok(())
}
