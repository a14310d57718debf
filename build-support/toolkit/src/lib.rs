//! Finds a CUDA toolkit, or installs one without root.
//!
//! [`Search`] looks in the places a toolkit usually lies and returns a [`Toolkit`], or an error that names every
//! place and why it did not serve. [`Installer`] puts a toolkit into the user's cache folder. Both take the
//! [`Environment`] as a value; only [`Environment::from_process`] reads the environment of the process.
//!
//! ```no_run
//! use cudalink_toolkit::{Environment, Search, Tool};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let environment = Environment::from_process()?;
//! let toolkit = Search::new(&environment).find()?;
//! println!("{} compiles for {}", toolkit.tool(Tool::Nvcc)?.display(), toolkit.version()?);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod cache;
pub mod choice;
mod environment;
mod install;
pub mod launcher;
mod layout;
mod library;
mod packages;
mod pip;
mod search;
mod site_packages;
mod stubs;
mod toolkit;
mod version;
mod wheel;

pub use choice::NotChosen;
pub use environment::{CACHE_VARIABLE, CHOICE_VARIABLE, Environment, EnvironmentError};
pub use install::{Event, InstallError, Installer};
pub use library::{LIBRARIES, Library, NoLibrary};
pub use packages::{DEFAULT_VERSION, UnknownVersion};
pub use pip::{NoPip, PipError};
pub use search::{Attempt, NotFound, Origin, Refusal, Search, Survey};
pub use semver::Version;
pub use toolkit::{LinkPrograms, Tool, Toolkit, ToolkitError};
pub use wheel::WheelError;
