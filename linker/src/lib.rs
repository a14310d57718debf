//! A native device linker for CUDA objects.
#![forbid(unsafe_code)]
