//! Compiles the device function, and says where its header lies.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=device");
    println!(
        "cargo::metadata=include={}/device",
        env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")
    );
    cc::Build::new()
        .cuda(true)
        .file("device/noise.cu")
        .compile("noise");
}
