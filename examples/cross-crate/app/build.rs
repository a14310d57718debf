//! Compiles the kernel. Its device code is linked with the program, not here.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=device");
    cc::Build::new()
        .cuda(true)
        .include(env::var("DEP_NOISE_INCLUDE").expect("`noise` says where its header lies"))
        .file("device/landscape.cu")
        .compile("landscape");
    println!("cargo::rustc-link-lib=stdc++");
}
