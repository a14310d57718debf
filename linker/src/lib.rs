//! A native device linker for CUDA objects.
//!
//! [`cubin`] knows the bytes of device objects and no policy; [`arch`] knows
//! hardware facts and no files.
#![forbid(unsafe_code)]

pub mod arch;
pub mod cubin;
pub mod error;
mod id;
mod read;
