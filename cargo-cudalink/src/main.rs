//! The `cargo cudalink` command.
#![forbid(unsafe_code)]

fn main() {}
