//! A Rust library that carries the device code of a native one.
#[unsafe(no_mangle)]
pub extern "C" fn rusty() {}
