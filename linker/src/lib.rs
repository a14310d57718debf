//! A native device linker for CUDA objects.
//!
//! [`cubin`] knows the bytes of device objects and no policy, [`fatbin`] and
//! [`container`] those of the files that carry them; [`arch`] knows hardware
//! facts and no files.
#![forbid(unsafe_code)]

pub mod arch;
pub mod container;
pub mod cubin;
pub mod error;
pub mod fatbin;
mod id;
mod read;
