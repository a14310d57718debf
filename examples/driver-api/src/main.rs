//! Counts steps of Collatz on a GPU, and compares them with those that the processor counts.

use std::error::Error;

use cuda_driver::{Argument, Gpu, NoGpu};

mod steps {
    include!(concat!(env!("OUT_DIR"), "/steps.rs"));
}

const LENGTH: u32 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{} bytes for {}, with {}",
        steps::IMAGE.len(),
        steps::ARCHS.join(", "),
        steps::kernels::COUNT_STEPS.name
    );
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
    // SAFETY: the linker made the image.
    let image = unsafe { gpu.load(steps::IMAGE)? };
    let counts = gpu.buffer(&vec![0_u32; LENGTH as usize])?;
    let arguments = [Argument::from(&counts), Argument::U32(LENGTH)];
    // SAFETY: `count_steps` takes a pointer to as many numbers as it is told.
    unsafe {
        image.launch(steps::kernels::COUNT_STEPS.name, (LENGTH / 256, 256), &arguments)?;
    }
    for (number, count) in (0..).zip(counts.read()?) {
        if count != steps_of(number) {
            return Err(format!("{count} steps from {number}, there are {}", steps_of(number)).into());
        }
    }
    println!("{}: {LENGTH} counts are right", gpu.name());
    Ok(())
}

fn steps_of(mut number: u64) -> u32 {
    let mut count = 0;
    while number > 1 {
        number = match number % 2 {
            0 => number / 2,
            _ => 3 * number + 1,
        };
        count += 1;
    }
    count
}
