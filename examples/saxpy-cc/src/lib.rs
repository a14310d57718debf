//! `y = a * x + y` on a GPU.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

/// What the CUDA runtime does not want to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CudaError(c_int);

impl CudaError {
    /// Whether the reason is that there is no GPU, or no driver for it.
    pub fn is_missing_gpu(self) -> bool {
        matches!(self.0, 35 | 100)
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&device::describe(self.0))
    }
}

impl std::error::Error for CudaError {}

/// Adds `a * x` to `y`.
///
/// # Panics
///
/// If there are not as many `x` as `y`.
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]) -> Result<(), CudaError> {
    assert_eq!(x.len(), y.len());
    device::run(a, x, y)
}

#[expect(unsafe_code, reason = "functions of C++ are called")]
mod device {
    use super::*;

    unsafe extern "C" {
        fn saxpy(a: f32, x: *const f32, y: *mut f32, count: usize) -> c_int;
        fn describe_error(error: c_int) -> *const c_char;
    }

    pub(super) fn run(a: f32, x: &[f32], y: &mut [f32]) -> Result<(), CudaError> {
        // SAFETY: both have as many numbers as it is told.
        match unsafe { saxpy(a, x.as_ptr(), y.as_mut_ptr(), y.len()) } {
            0 => Ok(()),
            error => Err(CudaError(error)),
        }
    }

    pub(super) fn describe(error: c_int) -> String {
        // SAFETY: it returns a text that lives as long as the program.
        let text = unsafe { CStr::from_ptr(describe_error(error)) };
        text.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_multiplies_and_adds() {
        let mut y = [1.0, 2.0, 3.0];
        match saxpy(2.0, &[10.0, 20.0, 30.0], &mut y) {
            Ok(()) => assert_eq!(y, [21.0, 42.0, 63.0]),
            Err(error) if error.is_missing_gpu() => eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        }
    }
}
