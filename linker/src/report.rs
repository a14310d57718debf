//! What a link tells about itself beyond the image: a map, who uses what, and
//! why something stays.
//!
//! ```
//! use rustnvlink::options::Options;
//! use rustnvlink::{Input, link};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let caller = std::fs::read("../tests/inputs/caller.sm_90.cubin")?;
//! # let callee = std::fs::read("../tests/inputs/callee.sm_90.cubin")?;
//! # let inputs = [Input::new("caller", &caller), Input::new("callee", &callee)];
//! let mut options = Options::new("sm_90".parse()?);
//! options.settings.reports.map = true;
//! let outcome = link(&inputs, &options);
//! assert!(outcome.reports.map.is_some_and(|map| map.contains("callee(float, int)")));
//! # Ok(())
//! # }
//! ```

mod alike;
mod cross_reference;
mod map;
mod uncalled;
mod unmatched;
mod why_live;

use crate::id::{Id as _, InputId};
use crate::merge::Merged;

pub(crate) use cross_reference::cross_references;
pub(crate) use map::map;
pub(crate) use uncalled::uncalled;
pub(crate) use unmatched::{unmatched, unmatched_kernels};
pub(crate) use why_live::why_live;

/// What is to be told.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Requested {
    /// What lies where, and what was left out.
    pub map: bool,
    /// Which function calls which, for dot.
    pub call_graph: bool,
    /// Who defines each name, and who uses it.
    pub cross_references: bool,
    /// Functions that stay only because their address is taken.
    pub uncalled: bool,
    /// Names of which to say why they stay.
    pub why_live: Vec<String>,
}

/// What was told.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Reports {
    /// What lies where, and what was left out.
    pub map: Option<String>,
    /// Which function calls which, for dot.
    pub call_graph: Option<String>,
    /// Who defines each name, and who uses it.
    pub cross_references: Option<String>,
}

/// What the linker made has no input.
fn input_name<'m>(merged: &'m Merged<'_>, input: Option<InputId>) -> &'m str {
    input.map_or("(the linker)", |id| merged.inputs[id.index()].as_str())
}
