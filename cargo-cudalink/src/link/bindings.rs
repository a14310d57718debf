//! Sources that embed an image and describe its kernels, for programs that load images through the driver.

mod c;
mod rust;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use rustnvlink::cubin::File;
use rustnvlink::device_link::Linked;
use rustnvlink::fatbin::FatbinOptions;

use super::write as write_file;
use crate::inspect::{FunctionReport, kernels};

/// What the source is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    C,
}

/// A kernel in all images.
#[derive(Debug)]
struct Kernel {
    /// The name by which the driver finds it.
    symbol: String,
    /// The same for people.
    readable: String,
    /// The name in the source.
    identifier: String,
    /// By processor.
    images: Vec<(String, FunctionReport)>,
}

impl Kernel {
    /// The parameters are the same for all processors.
    fn first(&self) -> &FunctionReport {
        &self.images[0].1
    }
}

/// Writes the source to `path`, and for Rust the fatbin beside it.
pub(super) fn write(
    path: &Path,
    linked: &Linked,
    options: &FatbinOptions,
    language: Language,
) -> Result<()> {
    let fatbin = linked.fatbin(options)?;
    let kernels = collect(linked)?;
    let stem = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .with_context(|| format!("{} has no name that a source can use", path.display()))?;
    match language {
        Language::Rust => {
            let image = path.with_extension("fatbin");
            if image == path {
                bail!(
                    "the Rust module cannot be {}, where its image goes; end it with .rs",
                    path.display()
                );
            }
            write_file(&image, &fatbin)?;
            write_file(path, rust::source(stem, fatbin.len(), &kernels).as_bytes())
        }
        Language::C => write_file(path, c::source(stem, &fatbin, &kernels).as_bytes()),
    }
}

fn collect(linked: &Linked) -> Result<Vec<Kernel>> {
    let mut found: BTreeMap<String, Kernel> = BTreeMap::new();
    for image in &linked.images {
        let file = File::parse(&image.data).map_err(|error| anyhow!(error))?;
        let kernels = kernels(&file, image.sm);
        for kernel in kernels.map_err(|failure| anyhow!("the linked image{failure}"))? {
            let entry = found
                .entry(kernel.name.name.clone())
                .or_insert_with(|| Kernel {
                    symbol: kernel.name.name.clone(),
                    readable: kernel.name.pretty().to_owned(),
                    identifier: String::new(),
                    images: Vec::new(),
                });
            entry.images.push((image.sm.to_string(), kernel));
        }
    }
    let mut kernels: Vec<Kernel> = found.into_values().collect();
    name(&mut kernels);
    Ok(kernels)
}

/// Names kernels after their functions where that is one name for one kernel, else after their symbols.
fn name(kernels: &mut [Kernel]) {
    let mut count: BTreeMap<String, u32> = BTreeMap::new();
    for kernel in kernels.iter() {
        *count
            .entry(base_name(&kernel.readable).to_uppercase())
            .or_default() += 1;
    }
    for kernel in kernels {
        let base = base_name(&kernel.readable);
        kernel.identifier = match count[&base.to_uppercase()] {
            1 => base,
            _ => identifier(&kernel.symbol),
        };
    }
}

/// `space::scale<float>(float*, int)` is `space_scale_float`.
fn base_name(readable: &str) -> String {
    let mut depth = 0_u32;
    let mut end = readable.len();
    for (at, character) in readable.char_indices() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && at > 0 => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let name = &readable[..end];
    // Instances of templates have their return type in front.
    let start = match name.contains('<') {
        true => name
            .strip_prefix("void ")
            .map_or(0, |rest| name.len() - rest.len()),
        false => 0,
    };
    identifier(&name[start..])
}

/// The text with single underscores for runs of what no identifier has.
fn identifier(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || character == '_' {
            name.push(character);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    match name.chars().next() {
        Some(first) if !first.is_ascii_digit() => name.to_owned(),
        _ => format!("_{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_after_their_functions() {
        let check = |readable: &str, expected: &str| assert_eq!(base_name(readable), expected);
        check("scale", "scale");
        check("scale(float*, int)", "scale");
        check("space::scale(float*)", "space_scale");
        check("void scale<float, (int)3>(float*)", "scale_float_int_3");
        check("3d", "_3d");
    }
}
