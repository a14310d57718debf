//! The calls into the driver, and nothing else: every unsafe line that does not run a kernel is here.
#![expect(unsafe_code, reason = "the driver is a C library")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use libloading::Library;

/// What every call returns: 0 is success.
type Status = c_int;
/// The codes that say that there is no GPU.
const NO_DEVICE: [Status; 4] = [34 /* stub library */, 35, 100, 803];
/// Keys of `cuDeviceGetAttribute`.
const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;

#[cfg(windows)]
const LIBRARY: &str = "nvcuda.dll";
#[cfg(not(windows))]
const LIBRARY: &str = "libcuda.so.1";

/// Why there is no GPU to use.
#[derive(Debug, thiserror::Error)]
pub enum NoGpu {
    /// The machine has no driver.
    #[error("no GPU: there is no CUDA driver, {LIBRARY} cannot be opened")]
    NoDriver(#[from] libloading::Error),
    /// The driver finds no device.
    #[error("no GPU: the CUDA driver says: {0}")]
    NoDevice(String),
    /// There is one, and something is wrong with it.
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// A call of the driver that failed.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {text} (code {status})")]
pub struct Failure {
    call: &'static str,
    text: String,
    status: Status,
}

/// A number that a GPU and the host write alike.
///
/// # Safety
///
/// Every pattern of bits is a value, and none of its bytes is padding.
pub unsafe trait Plain: Copy + Default {}

// SAFETY: numbers without padding.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for f64 {}

/// A loaded image; lives as long as the process.
pub(crate) struct Module(*mut c_void);

/// A kernel of a [`Module`].
pub(crate) struct Function(*mut c_void);

/// Declares the functions of the driver that are used, and loads them.
macro_rules! api {
    ($($field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions of the driver that are used.
        pub(crate) struct Api {
            $($field: unsafe extern "C" fn($($argument),*) -> Status,)*
            /// The functions are valid as long as this is open.
            _library: Library,
        }

        impl Api {
            /// Opens the driver.
            pub(crate) fn load() -> Result<Self, NoGpu> {
                // SAFETY: the driver's library does nothing but prepare itself, and the
                // signatures below are those of `cuda.h`.
                unsafe {
                    let library = Library::new(LIBRARY)?;
                    Ok(Self {
                        $($field: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

api! {
    init = "cuInit" (c_uint);
    error_string = "cuGetErrorString" (Status, *mut *const c_char);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device_get = "cuDeviceGet" (*mut c_int, c_int);
    device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    context_retain = "cuDevicePrimaryCtxRetain" (*mut *mut c_void, c_int);
    context_set = "cuCtxSetCurrent" (*mut c_void);
    synchronize = "cuCtxSynchronize" ();
    module_load = "cuModuleLoadData" (*mut *mut c_void, *const c_void);
    module_function = "cuModuleGetFunction" (*mut *mut c_void, *mut c_void, *const c_char);
    memory_allocate = "cuMemAlloc_v2" (*mut u64, usize);
    memory_free = "cuMemFree_v2" (u64);
    memory_write = "cuMemcpyHtoD_v2" (u64, *const c_void, usize);
    memory_read = "cuMemcpyDtoH_v2" (*mut c_void, u64, usize);
    kernel_launch = "cuLaunchKernel" (
        *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void,
        *mut *const c_void, *mut *mut c_void
    );
}

impl Api {
    fn check(&self, call: &'static str, status: Status) -> Result<(), Failure> {
        if status == 0 {
            return Ok(());
        }
        let mut text = ptr::null();
        // SAFETY: the driver stores a static string, or nothing for a code it does not know.
        let text = unsafe {
            (self.error_string)(status, &mut text);
            if text.is_null() {
                "unknown error".to_owned()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        };
        Err(Failure { call, text, status })
    }

    /// Makes the first device current in this thread, and gives its name and capability.
    pub(crate) fn open_first(&self) -> Result<(String, (u32, u32)), NoGpu> {
        let no_device = |failure: Failure| match failure.status {
            status if NO_DEVICE.contains(&status) => NoGpu::NoDevice(failure.text),
            _ => NoGpu::Failure(failure),
        };
        let (mut count, mut device) = (0, 0);
        let mut context = ptr::null_mut();
        let mut name: [c_char; 256] = [0; 256];
        let mut capability = [0, 0];
        // SAFETY: all pointers are to variables of the type that the call stores.
        unsafe {
            self.check("cuInit", (self.init)(0)).map_err(no_device)?;
            self.check("cuDeviceGetCount", (self.device_count)(&mut count))
                .map_err(no_device)?;
            if count == 0 {
                return Err(NoGpu::NoDevice("it has no device".to_owned()));
            }
            self.check("cuDeviceGet", (self.device_get)(&mut device, 0))?;
            let status = (self.device_name)(name.as_mut_ptr(), 255, device);
            self.check("cuDeviceGetName", status)?;
            for (value, key) in capability
                .iter_mut()
                .zip([CAPABILITY_MAJOR, CAPABILITY_MINOR])
            {
                let status = (self.device_attribute)(value, key, device);
                self.check("cuDeviceGetAttribute", status)?;
            }
            let status = (self.context_retain)(&mut context, device);
            self.check("cuDevicePrimaryCtxRetain", status)?;
            self.check("cuCtxSetCurrent", (self.context_set)(context))?;
        }
        // SAFETY: the last byte of the array was never written and is NUL.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        let [major, minor] = capability.map(|number: c_int| number.unsigned_abs());
        Ok((name.to_string_lossy().into_owned(), (major, minor)))
    }

    /// Loads code.
    ///
    /// # Safety
    ///
    /// The image has to be a whole one.
    pub(crate) unsafe fn load_image(&self, image: &[u8]) -> Result<Module, Failure> {
        let mut module = ptr::null_mut();
        // SAFETY: an image says by itself how long it is, and the caller promises that it is so.
        let status = unsafe { (self.module_load)(&mut module, image.as_ptr().cast()) };
        self.check("cuModuleLoadData", status)?;
        Ok(Module(module))
    }

    pub(crate) fn function(&self, module: &Module, name: &CStr) -> Result<Function, Failure> {
        let mut function = ptr::null_mut();
        // SAFETY: modules are never unloaded.
        let status = unsafe { (self.module_function)(&mut function, module.0, name.as_ptr()) };
        self.check("cuModuleGetFunction", status)?;
        Ok(Function(function))
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Result<u64, Failure> {
        let mut address = 0;
        // SAFETY: the driver stores an address of its own.
        let status = unsafe { (self.memory_allocate)(&mut address, bytes) };
        self.check("cuMemAlloc", status)?;
        Ok(address)
    }

    pub(crate) fn free(&self, address: u64) {
        // SAFETY: the owner of the address frees it once. A failure here repeats that of an
        // earlier call, which was reported.
        let _ = unsafe { (self.memory_free)(address) };
    }

    pub(crate) fn write<T: Plain>(&self, address: u64, values: &[T]) -> Result<(), Failure> {
        // SAFETY: the driver reads the slice and checks the address.
        let status =
            unsafe { (self.memory_write)(address, values.as_ptr().cast(), size_of_val(values)) };
        self.check("cuMemcpyHtoD", status)
    }

    pub(crate) fn read<T: Plain>(&self, address: u64, length: usize) -> Result<Vec<T>, Failure> {
        let mut values = vec![T::default(); length];
        let bytes = size_of_val(values.as_slice());
        // SAFETY: the driver fills the vector, and any bits are a `T`.
        let status = unsafe { (self.memory_read)(values.as_mut_ptr().cast(), address, bytes) };
        self.check("cuMemcpyDtoH", status)?;
        Ok(values)
    }

    /// Runs a kernel and waits for its end.
    ///
    /// # Safety
    ///
    /// The arguments have to be those that the kernel declares, and it must stay within its memory.
    pub(crate) unsafe fn launch(
        &self,
        function: &Function,
        blocks: c_uint,
        threads: c_uint,
        arguments: &mut [*const c_void],
    ) -> Result<(), Failure> {
        let (none, stream) = (ptr::null_mut(), ptr::null_mut());
        let list = arguments.as_mut_ptr();
        // SAFETY: the caller's promise.
        let status = unsafe {
            (self.kernel_launch)(
                function.0, blocks, 1, 1, threads, 1, 1, 0, stream, list, none,
            )
        };
        self.check("cuLaunchKernel", status)?;
        // SAFETY: takes nothing.
        self.check("cuCtxSynchronize", unsafe { (self.synchronize)() })
    }
}
