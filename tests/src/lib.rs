//! Tests that span the crates.
#![forbid(unsafe_code)]
