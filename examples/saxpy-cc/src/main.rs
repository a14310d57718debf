//! Runs saxpy on a million numbers and checks every one.

use std::error::Error;

use saxpy_cc::saxpy;

fn main() -> Result<(), Box<dyn Error>> {
    let x: Vec<f32> = (0..1 << 20).map(|i| (i % 1000) as f32).collect();
    let mut y: Vec<f32> = x.iter().map(|x| 1.0 - x).collect();
    match saxpy(2.0, &x, &mut y) {
        Ok(()) => {}
        Err(error) if error.is_missing_gpu() => {
            println!("no GPU to run on: {error}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    for (at, (x, y)) in x.iter().zip(&y).enumerate() {
        // Small whole numbers are exact.
        if *y != x + 1.0 {
            return Err(format!("wrong number at {at}: {y} for {x}").into());
        }
    }
    println!("{} numbers are right", y.len());
    Ok(())
}
