//! Counts primes on a GPU, with device code that was compiled elsewhere.

use std::error::Error;

use cuda_driver::{Argument, Gpu, NoGpu};

/// The images that the build script has linked, each with the number of its processor.
const IMAGES: &[(u32, &[u8])] = include!(concat!(env!("OUT_DIR"), "/images.rs"));

const LIMIT: u32 = 1_000_000;
const PRIMES: u32 = 78_498;

fn main() -> Result<(), Box<dyn Error>> {
    for (number, image) in IMAGES {
        println!("linked for sm_{number}: {} bytes", image.len());
    }
    match Gpu::open() {
        Ok(gpu) => count(&gpu),
        Err(NoGpu::Failure(failure)) => Err(failure.into()),
        Err(reason) => {
            println!("{reason}");
            Ok(())
        }
    }
}

#[expect(unsafe_code, reason = "code that runs on a GPU does what it likes")]
fn count(gpu: &Gpu) -> Result<(), Box<dyn Error>> {
    let (major, minor) = gpu.capability();
    let fitting = IMAGES.iter().rev().find(|(number, _)| gpu.runs(*number));
    let (number, image) = fitting.ok_or_else(|| format!("no image for sm_{major}{minor}"))?;
    // SAFETY: the linker made the image.
    let image = unsafe { gpu.load(image)? };
    let found = gpu.buffer(&[0_u32])?;
    let arguments = [Argument::U32(LIMIT), Argument::from(&found)];
    // SAFETY: `count_primes` takes a limit and a pointer to one number.
    unsafe {
        image.launch("count_primes", (256, 128), &arguments)?;
    }
    let found = found.read()?[0];
    if found != PRIMES {
        return Err(format!("{found} primes below {LIMIT}, there are {PRIMES}").into());
    }
    println!(
        "{}: {found} primes below {LIMIT}, by the code for sm_{number}",
        gpu.name()
    );
    Ok(())
}
