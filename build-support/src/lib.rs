//! Compile and device-link CUDA sources from a build script.
//!
//! ```toml
//! [build-dependencies]
//! cudalink-build = { path = "path/to/rustnvlink/build-support" }
//! ```
//!
//! With this crate a package needs nothing but `cargo build`. The device code is linked in the build script, by the
//! library `rustnvlink`; the sources are compiled by the nvcc of a CUDA toolkit, which is found as
//! `cargo cudalink toolkit list` shows it.
//!
//! # One package
//!
//! ```no_run
//! cudalink_build::Build::new()
//!     .files(["device/saxpy.cu", "device/math.cu"])
//!     .arch("sm_90")
//!     .compile("saxpy");
//! ```
//!
//! makes a static library of the sources with their linked device code, and tells cargo to link it and the CUDA runtime.
//! The program calls host functions of the sources, which launch the kernels: `extern "C" int saxpy(int n, float a)` in
//! CUDA C++ is
//!
//! ```
//! unsafe extern "C" {
//!     fn saxpy(n: i32, a: f32) -> i32;
//! }
//! ```
//!
//! in Rust.
//!
//! # Device code of several packages
//!
//! A package with device functions for others has `links = "name"` in its manifest and ends its build script with
//! [`Build::publish_device_objects`]. The package that makes the program, and depends on it directly, ends with
//! [`Build::link_device`]. With `cargo cudalink build` none of that is needed: it links the device code of all packages
//! when the program is linked, and [`Build::compile`] leaves it to that.
//!
//! # Images for the driver
//!
//! [`Build::embed`] links device code without any host code into one file for all processors, with a Rust module that
//! embeds it:
//!
//! ```no_run
//! cudalink_build::Build::new()
//!     .file("device/kernels.cu")
//!     .archs(["sm_80", "sm_90"])
//!     .prebuilt("objects")
//!     .embed("kernels");
//! ```
//!
//! and in the program
//!
//! ```ignore
//! mod kernels {
//!     include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
//! }
//! ```
//!
//! has `kernels::IMAGE` for the driver, and `kernels::kernels::SCALE` for a kernel `scale`: its name, its parameters, and
//! what it needs on each processor.
//!
//! [`Build::ptx`] and [`Build::cubin`] stop before the link, and return the files that they have made.
//!
//! # Choices of the user
//!
//! The variable `CUDALINK_ARCH` replaces the processors that a build script names (`sm_80,sm_90`), `CUDALINK_TOOLKIT` names
//! the folder of a toolkit or the first numbers of its version (`13.0`), `NVCC` a compiler, alone or with what runs it
//! (`ccache nvcc`; `nvcc` is that of the toolkit where `PATH` leads to none), `NVCC_CCBIN` or `CXX` the host compiler behind
//! it, and `CUDALINK_DLTO` (`true` or `false`) chooses link-time optimization. Cargo runs the build script again when one of these, a source or one of its headers
//! changes, and only what has changed is compiled again.
#![forbid(unsafe_code)]

mod build;
mod compile;
mod device;
mod environment;
mod error;
mod output;
mod places;
mod record;
mod toolchain;

pub use build::{Build, Cudart};
/// What [`Build::cmake_library`] takes the settings of.
pub use cmake;
pub use error::Error;
