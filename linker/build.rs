//! Links the program to fixed addresses where the system's C compiler does it.
//!
//! It starts in half the time, because nothing has to be adjusted. And NVIDIA's
//! library for link-time optimization makes the same code as in nvlink: what
//! it makes in parts (`-split-compile`) depends on how high addresses are.

use std::env;

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells build scripts of the target in the environment"
)]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |key: &str, value: &str| env::var(key).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
