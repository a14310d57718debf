//! Compiles the device code.

fn main() {
    println!("cargo::rerun-if-changed=device");
    cc::Build::new()
        .cuda(true)
        .files(["device/saxpy.cu", "device/multiply_add.cu"])
        .compile("saxpy");
    println!("cargo::rustc-link-lib=stdc++");
}
