//! Compiles and links the device code, and writes the module `steps`.

fn main() {
    cudalink_build::Build::new()
        .files(["device/count_steps.cu", "device/steps.cu"])
        .archs(["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
        .embed("steps");
}
