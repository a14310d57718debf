//! Compile and device-link CUDA sources from a build script.
#![forbid(unsafe_code)]
