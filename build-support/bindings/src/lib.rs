//! Sources that embed linked device code and describe its kernels, for programs that load images through the driver.
//!
//! [`Bindings::collect`] looks at what a device link has made; [`Bindings::rust`] and [`Bindings::c`] write the sources.
#![forbid(unsafe_code)]

mod c;
mod function;
mod name;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use rustnvlink::cubin::File;
use rustnvlink::device_link::Linked;
use rustnvlink::error::ParseError;

pub use function::{
    Function, Functions, Parameter, Stack, binding, constant_bank, is_relocations, owner, parameter,
};
pub use name::{Name, demangle};

/// What sources say about linked device code.
#[derive(Debug)]
pub struct Bindings {
    /// The processors there are images for.
    archs: Vec<String>,
    kernels: Vec<Kernel>,
    /// What makes the sources, as in "Made by ..".
    maker: String,
}

impl Bindings {
    /// Looks at the images of a link.
    pub fn collect(linked: &Linked, maker: &str) -> Result<Self, ParseError> {
        Ok(Self {
            archs: linked.images.iter().map(|i| i.sm.to_string()).collect(),
            kernels: collect(linked)?,
            maker: maker.to_owned(),
        })
    }

    /// A Rust module for the image `STEM.fatbin` beside it, which is `size` bytes long.
    pub fn rust(&self, stem: &str, size: usize) -> String {
        rust::source(self, stem, size)
    }

    /// A C header that holds the image.
    pub fn c(&self, stem: &str, fatbin: &[u8]) -> String {
        c::source(self, stem, fatbin)
    }
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
    images: Vec<(String, Function)>,
}

impl Kernel {
    /// The parameters are the same for all processors.
    fn first(&self) -> &Function {
        &self.images[0].1
    }
}

fn collect(linked: &Linked) -> Result<Vec<Kernel>, ParseError> {
    let mut found: BTreeMap<String, Kernel> = BTreeMap::new();
    for image in &linked.images {
        let file = File::parse(&image.data)?;
        let (functions, read) = Functions::read(&file);
        read?;
        for kernel in functions.kernels {
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

/// Names kernels after their functions where that is one name for one kernel, else after their symbols, else with a number
/// behind that. Constants and macros are in capital letters, so that names do not differ by these alone.
fn name(kernels: &mut [Kernel]) {
    for kernel in kernels.iter_mut() {
        kernel.identifier = base_name(&kernel.readable);
    }
    let count = count(kernels);
    for kernel in kernels.iter_mut() {
        if count[&kernel.identifier.to_uppercase()] > 1 {
            kernel.identifier = identifier(&kernel.symbol);
        }
    }
    let mut taken = BTreeSet::new();
    for kernel in kernels {
        let numbered = (2..).map(|number: u32| format!("{}_{number}", kernel.identifier));
        let mut names = iter::once(kernel.identifier.clone()).chain(numbered);
        let free = names.find(|name| taken.insert(name.to_uppercase()));
        kernel.identifier = free.expect("there are more numbers than kernels");
    }
}

/// How many kernels have each name, in capital letters.
fn count(kernels: &[Kernel]) -> BTreeMap<String, u32> {
    let mut count = BTreeMap::new();
    for kernel in kernels {
        *count.entry(kernel.identifier.to_uppercase()).or_default() += 1;
    }
    count
}

/// `space::scale<float>(T1 *, int)` is `space_scale_float`.
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

/// The text with single underscores for runs of what no identifier has, but none for those in front.
fn identifier(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || character == '_' {
            name.push(character);
        } else if !name.is_empty() && !name.ends_with('_') {
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
        check("scale(float *, int)", "scale");
        check("space::scale(float *)", "space_scale");
        check("void scale<float, (int)3>(T1 *)", "scale_float_int_3");
        check("<unnamed>::scale(float *)", "unnamed_scale");
        check("void <unnamed>::scale<float>(T1 *)", "unnamed_scale_float");
        check("3d", "_3d");
    }

    #[test]
    fn each_kernel_has_a_name_of_its_own_in_capital_letters() {
        let kernel = |(symbol, readable): (&str, &str)| Kernel {
            symbol: symbol.to_owned(),
            readable: readable.to_owned(),
            identifier: String::new(),
            images: Vec::new(),
        };
        let names = |symbols: &[(&str, &str)]| -> Vec<String> {
            let mut kernels: Vec<Kernel> = symbols.iter().copied().map(kernel).collect();
            name(&mut kernels);
            kernels
                .into_iter()
                .map(|kernel| kernel.identifier)
                .collect()
        };
        assert_eq!(
            names(&[("_Z1kPf", "k(float *)"), ("_Z5otherv", "other()")]),
            ["k", "other"]
        );
        assert_eq!(
            names(&[("_Z1kPf", "k(float *)"), ("_Z1kPi", "k(int *)")]),
            ["_Z1kPf", "_Z1kPi"]
        );
        assert_eq!(
            names(&[("_Z1KPi", "K(int *)"), ("_Z1kPi", "k(int *)")]),
            ["_Z1KPi", "_Z1kPi_2"]
        );
    }
}
