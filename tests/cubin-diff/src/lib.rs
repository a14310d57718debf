//! Compares two device images by meaning.
#![forbid(unsafe_code)]
