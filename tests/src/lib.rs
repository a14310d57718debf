//! Runs every test case through NVIDIA's tools and through our own linker.
//!
//! A case is a folder in `cases/` whose sources carry directives (README.md lists them).
//! [`case`] finds the folders, [`directive`] turns their comments into a [`directive::Script`]
//! for one architecture, [`run`] executes the steps of a script with NVIDIA's tools, and
//! [`expect`] checks what came out. [`identity`] gives the same inputs to our linker and compares.
//!
//! Every result is kept by the hash of what it was made from ([`store`]), so that only the first
//! run of a case is slow.
#![forbid(unsafe_code)]

pub mod arch;
pub mod case;
pub mod checks;
pub mod directive;
pub mod expect;
pub mod golden;
pub mod identity;
pub mod known;
pub mod process;
pub mod random;
pub mod roundtrip;
pub mod run;
pub mod store;
pub mod surgery;
pub mod toolkit;
