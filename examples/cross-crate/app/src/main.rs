//! Fills a landscape with noise on a GPU, and compares it with that of the processor.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int};

const COUNT: u32 = 1 << 20;
const SEED: u32 = 7;

/// The codes of the CUDA runtime that mean: there is no GPU to be used.
const NO_GPU: [c_int; 2] = [35, 100];

#[expect(unsafe_code, reason = "functions of C++ are called")]
mod device {
    use super::*;

    unsafe extern "C" {
        fn fill_landscape(heights: *mut u32, count: u32, seed: u32) -> c_int;
        fn describe_error(error: c_int) -> *const c_char;
    }

    /// Fills `heights` with noise.
    pub fn fill(heights: &mut [u32], seed: u32) -> Result<(), c_int> {
        let count = heights.len().try_into().expect("not that many");
        // SAFETY: it writes `count` numbers.
        match unsafe { fill_landscape(heights.as_mut_ptr(), count, seed) } {
            0 => Ok(()),
            error => Err(error),
        }
    }

    /// What the runtime says about an error.
    pub fn describe(error: c_int) -> String {
        // SAFETY: it returns a text that lives as long as the program.
        let text = unsafe { CStr::from_ptr(describe_error(error)) };
        text.to_string_lossy().into_owned()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut heights = vec![0; COUNT as usize];
    match device::fill(&mut heights, SEED) {
        Ok(()) => {}
        Err(error) if NO_GPU.contains(&error) => {
            println!("no GPU to run on: {}", device::describe(error));
            return Ok(());
        }
        Err(error) => return Err(device::describe(error).into()),
    }
    for (place, height) in (0..).zip(&heights) {
        if *height != noise::noise(place, SEED) {
            return Err(format!("wrong height at {place}: {height}").into());
        }
    }
    println!("{COUNT} heights are right");
    Ok(())
}
