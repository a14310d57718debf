//! Builds cubins from a short text.
#![forbid(unsafe_code)]
