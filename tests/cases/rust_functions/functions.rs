//! Where `functions.ptx` comes from:
//!
//!     rustc --target nvptx64-nvidia-cuda --edition 2024 --crate-type cdylib -C target-cpu=sm_75 -C opt-level=3 \
//!         -C panic=abort -C lto=fat -C linker=true --emit asm=functions.ptx,link=/dev/null functions.rs
#![no_std]

unsafe extern "C" {
    /// Of CUDA C.
    fn scale(value: f32) -> f32;
    fn stop() -> !;
    static mut calls: u32;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe { stop() }
}

trait Shape {
    fn area(&self) -> f32;
    fn corners(&self) -> u32;
}

struct Square(f32);

impl Shape for Square {
    fn area(&self) -> f32 {
        self.0 * self.0
    }
    fn corners(&self) -> u32 {
        4
    }
}

struct Circle(f32);

impl Shape for Circle {
    fn area(&self) -> f32 {
        unsafe { calls += 1 };
        unsafe { scale(self.0 * self.0) }
    }
    fn corners(&self) -> u32 {
        0
    }
}

static UNITS: [&(dyn Shape + Sync); 2] = [&Square(1.0), &Circle(1.0)];
static WEIGHTS: [u16; 7] = [1, 2, 3, 5, 8, 13, 21];

#[unsafe(no_mangle)]
pub extern "C" fn unit_area(which: usize) -> f32 {
    UNITS[which].area() + UNITS[which].corners() as f32
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn weighted_sum(values: *const u32, count: usize) -> u64 {
    let values = unsafe { core::slice::from_raw_parts(values, count) };
    let weights = WEIGHTS.iter().cycle();
    values
        .iter()
        .zip(weights)
        .map(|(&value, &weight)| u64::from(value) * u64::from(weight))
        .sum()
}
