//! Integrates a function that is chosen when the program runs, and linked to the kernel then.

use std::env;
use std::error::Error;
use std::f64::consts::PI;

use cuda_driver::{Argument, Gpu, NoGpu};
use rustnvlink::Input;
use rustnvlink::options::Options;

/// Every object that the build script has compiled: its name, its processor, its bytes.
const OBJECTS: &[(&str, u32, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// A function that can be integrated.
struct Function {
    name: &'static str,
    from: f64,
    to: f64,
    integral: f64,
}

const FUNCTIONS: [Function; 2] = [
    Function {
        name: "circle",
        from: 0.0,
        to: 1.0,
        integral: PI,
    },
    Function {
        name: "cosine",
        from: 0.0,
        to: PI / 2.0,
        integral: 1.0,
    },
];

const STEPS: u32 = 1 << 24;
const BLOCKS: u32 = 64;
const THREADS: u32 = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let name = env::args().nth(1).unwrap_or_else(|| "circle".to_owned());
    let function = FUNCTIONS
        .iter()
        .find(|function| function.name == name)
        .ok_or_else(|| format!("there is no function {name}, but circle and cosine"))?;
    match Gpu::open() {
        Ok(gpu) => integrate(&gpu, function),
        Err(NoGpu::Failure(failure)) => Err(failure.into()),
        Err(reason) => {
            let (_, number, _) = OBJECTS.last().ok_or("the build compiled nothing")?;
            let image = link(function, *number)?;
            println!("linked {name} for sm_{number}: {} bytes", image.len());
            println!("{reason}");
            Ok(())
        }
    }
}

/// Joins the kernel and the function into an image.
fn link(function: &Function, number: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let wanted = ["integrate", function.name];
    let inputs: Vec<_> = OBJECTS
        .iter()
        .filter(|(name, processor, _)| *processor == number && wanted.contains(name))
        .map(|(name, _, data)| Input::new(name, data))
        .collect();
    let options = Options::new(format!("sm_{number}").parse()?);
    Ok(rustnvlink::link(&inputs, &options).into_result()?)
}

#[expect(unsafe_code, reason = "code that runs on a GPU does what it likes")]
fn integrate(gpu: &Gpu, function: &Function) -> Result<(), Box<dyn Error>> {
    let (major, minor) = gpu.capability();
    let fitting = OBJECTS
        .iter()
        .rev()
        .find(|(_, number, _)| gpu.runs(*number));
    let (_, number, _) = fitting.ok_or_else(|| format!("no object for sm_{major}{minor}"))?;
    let image = link(function, *number)?;
    // SAFETY: the linker made the image.
    let image = unsafe { gpu.load(&image)? };
    let sums = gpu.buffer(&[0.0; (BLOCKS * THREADS) as usize])?;
    let step = (function.to - function.from) / f64::from(STEPS);
    let arguments = [
        Argument::F64(function.from),
        Argument::F64(step),
        Argument::U32(STEPS),
        Argument::from(&sums),
    ];
    // SAFETY: `integrate` takes these, and writes one sum for each thread.
    unsafe {
        image.launch("integrate", (BLOCKS, THREADS), &arguments)?;
    }
    let integral: f64 = sums.read()?.iter().sum();
    let name = function.name;
    if (integral - function.integral).abs() > 1e-9 {
        return Err(format!(
            "the integral of {name} is {integral}, not {}",
            function.integral
        )
        .into());
    }
    println!("{}: the integral of {name} is {integral}", gpu.name());
    Ok(())
}
