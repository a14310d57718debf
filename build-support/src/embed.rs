//! The Rust module that embeds an image.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rustnvlink::cubin::{File, SymbolOther};
use rustnvlink::device_link::Linked;

use crate::error::Error;

/// A module for the image `NAME.fatbin` beside it, which is `size` bytes long.
pub(crate) fn module(name: &str, size: usize, linked: &Linked) -> Result<String, Error> {
    let mut text =
        String::from("// Made by the build script; changes are lost when it runs again.\n\n");
    let archs: Vec<String> = linked.images.iter().map(|i| i.sm.to_string()).collect();
    let _ = write!(
        text,
        "#[repr(C, align(16))]\nstruct Aligned<T>(T);\n\n\
         static ALIGNED: Aligned<[u8; {size}]> = Aligned(*include_bytes!({:?}));\n\n\
         /// The images of all processors, as the driver loads them.\n\
         pub static IMAGE: &[u8] = &ALIGNED.0;\n\n\
         /// The processors there are images for.\n\
         pub const ARCHS: &[&str] = &{archs:?};\n\n\
         /// The kernels, by the names under which the driver finds them.\n\
         pub const KERNELS: &[&str] = &{:?};\n",
        format!("{name}.fatbin"),
        kernels(linked)?,
    );
    Ok(text)
}

fn kernels(linked: &Linked) -> Result<Vec<String>, Error> {
    let mut kernels = BTreeSet::new();
    for image in &linked.images {
        let file = File::parse(&image.data).map_err(|error| Error::Write(error.to_string()))?;
        for symbol in &file.symbols {
            if symbol.other.has(SymbolOther::ENTRY) {
                kernels.insert(symbol.name.to_owned());
            }
        }
    }
    Ok(kernels.into_iter().collect())
}
