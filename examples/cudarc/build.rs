//! Compiles and links the device code, and writes the module `filters`.

fn main() {
    cudalink_build::Build::new()
        .files(["device/smooth.cu", "device/window.cu"])
        .archs(["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
        .embed("filters");
}
