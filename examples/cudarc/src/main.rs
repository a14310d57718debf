//! Smooths numbers on a GPU, and compares them with those that the processor makes.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg, sys};
use cudarc::nvrtc::Ptx;

mod filters {
    include!(concat!(env!("OUT_DIR"), "/filters.rs"));
}

const WEIGHTS: [f32; 4] = [0.25, 0.1875, 0.125, 0.0625];

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{} bytes for {}, with {}",
        filters::IMAGE.len(),
        filters::ARCHS.join(", "),
        filters::kernels::SMOOTH.name
    );
    let Some(context) = gpu() else {
        println!("no GPU here");
        return Ok(());
    };
    // Multiples of a power of two, whose sums are the same in any order.
    let values: Vec<f32> = (0..100_000_u64).map(|n| (n * n % 1024) as f32).collect();
    if smooth(&context, &values)? != smoothed(&values) {
        return Err("the GPU makes other numbers".into());
    }
    println!("{}: {} numbers are right", context.name()?, values.len());
    Ok(())
}

/// The first GPU, if there is one.
#[expect(unsafe_code, reason = "looks for the driver's library by loading it")]
fn gpu() -> Option<Arc<CudaContext>> {
    // SAFETY: the library of the driver may be loaded at any time.
    let has_driver = unsafe { sys::is_culib_present() };
    has_driver.then(|| CudaContext::new(0).ok())?
}

#[expect(unsafe_code, reason = "code that runs on a GPU does what it likes")]
fn smooth(context: &Arc<CudaContext>, values: &[f32]) -> Result<Vec<f32>, DriverError> {
    let stream = context.default_stream();
    // The driver takes the image for its processor from the fatbin.
    let module = context.load_module(Ptx::from_binary(filters::IMAGE.to_vec()))?;
    let mut weights = module.get_global("weights", &stream)?;
    stream.memcpy_htod(&WEIGHTS.map(f32::to_ne_bytes).concat(), &mut weights)?;
    let kernel = module.load_function(filters::kernels::SMOOTH.name)?;
    let input = stream.clone_htod(values)?;
    let mut output = stream.alloc_zeros::<f32>(values.len())?;
    let count = values.len() as i32;
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&mut output).arg(&input).arg(&count);
    // SAFETY: `smooth` takes two pointers to as many numbers as it is told.
    unsafe { launch.launch(LaunchConfig::for_num_elems(values.len() as u32))? };
    stream.clone_dtoh(&output)
}

fn smoothed(values: &[f32]) -> Vec<f32> {
    let last = values.len() - 1;
    let at = |place: usize, offset: isize| values[place.saturating_add_signed(offset).min(last)];
    let window = |place| {
        let sum = (-3..=3).map(|offset: isize| WEIGHTS[offset.unsigned_abs()] * at(place, offset));
        sum.sum()
    };
    (0..values.len()).map(window).collect()
}
