//! Compares the device images of two device link objects, as CMake's tests need it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use object::{Object as _, ObjectSection as _};
use rustnvlink::fatbin::{self, Kind, Limit};

/// Section that holds the images of linked device code.
const IMAGES: &str = ".nv_fatbin";
/// Section of an image that names the tools which made it, and so differs rightly.
const TOOL_NOTES: &str = ".note.nv.tkinfo";

/// Fails if two host objects do not carry the same linked device code
#[derive(Parser)]
struct Arguments {
    /// The object that is right
    left: PathBuf,
    /// The object to judge
    right: PathBuf,
}

/// An image and the processor it is for.
type Image = (String, Vec<u8>);

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let (left, right) = (images(&arguments.left)?, images(&arguments.right)?);
    let processors = |images: &[Image]| images.iter().map(|i| i.0.clone()).collect::<Vec<_>>();
    let (ours, theirs) = (processors(&right), processors(&left));
    ensure!(
        ours == theirs,
        "images for {ours:?} instead of {theirs:?} in {}",
        arguments.right.display()
    );
    let mut differences = Vec::new();
    for ((processor, left), (_, right)) in left.iter().zip(&right) {
        for difference in cubin_diff::compare(left, right)? {
            if !difference.key.contains(TOOL_NOTES) {
                differences.push(format!("{processor} {difference}"));
            }
        }
    }
    if !differences.is_empty() {
        bail!(
            "{} is not {}:\n{}",
            arguments.right.display(),
            arguments.left.display(),
            differences.join("\n")
        );
    }
    Ok(())
}

/// All images of a host object, in their order.
fn images(path: &Path) -> Result<Vec<Image>> {
    let read = || -> Result<Vec<Image>> {
        let data = fs::read(path)?;
        let file = object::File::parse(&*data)?;
        let section = file
            .section_by_name(IMAGES)
            .with_context(|| format!("no section {IMAGES}"))?;
        let mut images = Vec::new();
        for fatbin in fatbin::fatbins(section.data()?) {
            for entry in fatbin?.entries() {
                let entry = entry?;
                ensure!(entry.kind == Kind::ELF, "an entry of kind {:?}", entry.kind);
                let image = entry.image(Limit::default())?.into_owned();
                images.push((entry.sm.to_string(), image));
            }
        }
        ensure!(!images.is_empty(), "no image in {IMAGES}");
        Ok(images)
    };
    read().with_context(|| format!("in {}", path.display()))
}
