//! Links the objects of each processor, and writes a table of the images for the program to include.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rustnvlink::Input;
use rustnvlink::options::Options;

/// The processors there are objects for.
const PROCESSORS: [u32; 5] = [75, 80, 90, 100, 120];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=objects");
    let out = env::var("OUT_DIR")?;
    let mut table = String::from("&[\n");
    for number in PROCESSORS {
        let image = Path::new(&out).join(format!("primes.sm_{number}.cubin"));
        fs::write(&image, link(number)?)?;
        writeln!(table, "    ({number}, include_bytes!({image:?})),")?;
    }
    table.push(']');
    fs::write(Path::new(&out).join("images.rs"), table)?;
    Ok(())
}

fn link(number: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let names = ["count", "prime"].map(|name| format!("objects/{name}.sm_{number}.cubin"));
    let mut inputs = Vec::new();
    for name in &names {
        let data = fs::read(name).map_err(|e| format!("{name}: {e}"))?;
        inputs.push((name, data));
    }
    let inputs: Vec<_> = inputs
        .iter()
        .map(|(name, data)| Input::new(name, data))
        .collect();
    let options = Options::new(format!("sm_{number}").parse()?);
    let outcome = rustnvlink::link(&inputs, &options);
    for message in outcome.diagnostics.messages() {
        println!("cargo::warning={message}");
    }
    outcome
        .image
        .ok_or_else(|| format!("the device code for sm_{number} does not link").into())
}
