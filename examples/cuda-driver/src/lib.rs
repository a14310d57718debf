//! What the examples need of the CUDA driver: a device, its memory, and kernels of an image.
//!
//! The driver is opened when [`Gpu::open`] is called, so that programs start where there is none and can say so.

mod sys;

use std::ffi::{CString, c_uint, c_void};
use std::marker::PhantomData;

use sys::Api;
pub use sys::{Failure, NoGpu, Plain};

/// The first GPU of the machine, ready to run kernels on.
pub struct Gpu {
    api: Api,
    name: String,
    capability: (u32, u32),
}

impl Gpu {
    /// Opens the driver and its first GPU.
    pub fn open() -> Result<Self, NoGpu> {
        let api = Api::load()?;
        let (name, capability) = api.open_first()?;
        Ok(Self {
            api,
            name,
            capability,
        })
    }

    /// What the GPU is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Major and minor number of what the GPU can do: (9, 0) is `sm_90`.
    pub fn capability(&self) -> (u32, u32) {
        self.capability
    }

    /// Whether the GPU runs native code for `sm_<number>`: that of its own generation, and not newer.
    pub fn runs(&self, number: u32) -> bool {
        let (major, minor) = self.capability;
        number / 10 == major && number % 10 <= minor
    }

    /// Loads an image: a linked cubin, or a fatbin with several.
    ///
    /// # Safety
    ///
    /// It has to be a whole one, as the driver believes the sizes that it finds there.
    #[expect(
        unsafe_code,
        reason = "nothing but the caller knows that the image is whole"
    )]
    pub unsafe fn load(&self, image: &[u8]) -> Result<Image<'_>, Failure> {
        // SAFETY: the caller's promise.
        let module = unsafe { self.api.load_image(image)? };
        Ok(Image { gpu: self, module })
    }

    /// Memory of the GPU with a copy of `values`.
    pub fn buffer<T: Plain>(&self, values: &[T]) -> Result<Buffer<'_, T>, Failure> {
        let bytes = size_of_val(values);
        let address = self.api.allocate(bytes)?;
        let buffer = Buffer {
            gpu: self,
            address,
            length: values.len(),
            values: PhantomData,
        };
        self.api.write(address, values)?;
        Ok(buffer)
    }
}

/// Memory of the GPU; freed when dropped.
pub struct Buffer<'g, T> {
    gpu: &'g Gpu,
    address: u64,
    length: usize,
    values: PhantomData<T>,
}

impl<T: Plain> Buffer<'_, T> {
    /// Waits for the kernels before, and copies what they wrote.
    pub fn read(&self) -> Result<Vec<T>, Failure> {
        self.gpu.api.read(self.address, self.length)
    }
}

impl<T> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        self.gpu.api.free(self.address);
    }
}

/// Code that the driver has loaded.
pub struct Image<'g> {
    gpu: &'g Gpu,
    module: sys::Module,
}

/// A parameter of a kernel.
#[derive(Clone, Copy)]
pub enum Argument {
    /// A pointer into the memory of the GPU.
    Pointer(u64),
    /// An `unsigned int`.
    U32(u32),
    /// A `double`.
    F64(f64),
}

impl<T> From<&Buffer<'_, T>> for Argument {
    fn from(buffer: &Buffer<'_, T>) -> Self {
        Self::Pointer(buffer.address)
    }
}

impl Image<'_> {
    /// Runs a kernel on `blocks` blocks of `threads` threads, and waits for its end.
    ///
    /// # Safety
    ///
    /// The arguments have to be those that the kernel declares, and it must stay within the buffers it is given.
    #[expect(
        unsafe_code,
        reason = "nothing but the caller knows what a kernel does"
    )]
    pub unsafe fn launch(
        &self,
        kernel: &str,
        (blocks, threads): (c_uint, c_uint),
        arguments: &[Argument],
    ) -> Result<(), Failure> {
        let name = CString::new(kernel).expect("a kernel's name has no NUL");
        let function = self.gpu.api.function(&self.module, &name)?;
        let mut pointers: Vec<*const c_void> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Pointer(value) => std::ptr::from_ref(value).cast(),
                Argument::U32(value) => std::ptr::from_ref(value).cast(),
                Argument::F64(value) => std::ptr::from_ref(value).cast(),
            })
            .collect();
        // SAFETY: the pointers are those of `arguments`, which live on; the rest is the caller's promise.
        unsafe {
            self.gpu
                .api
                .launch(&function, blocks, threads, &mut pointers)
        }
    }
}
