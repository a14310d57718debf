//! Builds the object of a text file, to look at it or to link it by hand:
//! `cargo run -p rustnvlink-testkit --example build -- pair.txt pair.cubin`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [text, object] = &arguments[..] else {
        return Err("usage: build TEXT OBJECT".into());
    };
    let built = rustnvlink_testkit::build(&std::fs::read_to_string(text)?)
        .map_err(|error| format!("{text}: {error}"))?;
    std::fs::write(object, built)?;
    Ok(())
}
