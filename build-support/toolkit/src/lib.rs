//! Finds a CUDA toolkit, or installs one without root.
#![forbid(unsafe_code)]
