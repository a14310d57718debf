//! Calls libnvJitLink, which turns LTO-IR into PTX.
//!
//! This is the only code of the project that calls a foreign library. A
//! [`Library`] is loaded when a link first needs it; without it nothing else
//! is lost.
//!
//! # Safety
//!
//! Two things are taken on trust, once, in [`Library::open`]: that the file
//! which is named is safe to load, as every shared library of a toolkit is,
//! and that the functions have the types that `nvJitLink.h` declares. They
//! are C functions whose types have not changed since toolkit 12.0. All else
//! holds by construction: a handle comes from a successful
//! `nvJitLinkCreate`, lives in a `Session` that cannot be cloned, and is
//! destroyed once, when that is dropped; texts and data are borrowed for the
//! length of the call, and the library copies what it keeps; each buffer that
//! it fills has the size that it asked for just before.
#![expect(
    unsafe_code,
    reason = "a foreign library cannot be called without it; the argument stands above"
)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file of LTO-IR.
    LtoIr,
    /// A container of images for several processors.
    Fatbin,
}

impl Kind {
    /// The number that `nvJitLink.h` has for it.
    fn number(self) -> c_int {
        match self {
            Self::LtoIr => 3,
            Self::Fatbin => 4,
        }
    }
}

/// One input of a link.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// What it is.
    pub kind: Kind,
    /// The name for messages.
    pub name: &'a str,
    /// Its bytes.
    pub data: &'a [u8],
}

/// What a link gave.
#[derive(Debug)]
pub struct Linked {
    /// PTX without the NUL behind it.
    pub ptx: Vec<u8>,
    /// What else the library said.
    pub log: String,
    /// What the compiler in it said of its work, as it said it. The library
    /// keeps that with its errors.
    pub remarks: String,
}

/// Why there is nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library is missing or of another kind.
    #[error("cannot load {}: {source}", path.display())]
    Load {
        /// What was to be loaded.
        path: PathBuf,
        /// Why that failed.
        source: libloading::Error,
    },
    /// A text that C cannot take.
    #[error("'{0}' holds a NUL")]
    Nul(String),
    /// The library refused.
    #[error("{call} failed with code {code}: {}", log.trim())]
    Call {
        /// The function that failed.
        call: &'static str,
        /// What it returned.
        code: c_int,
        /// What the library said about it.
        log: String,
    },
}

type Handle = *mut c_void;
type SizeOf = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Fill = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;

/// The functions of a loaded library.
#[derive(Debug)]
pub struct Library {
    create: unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    add: unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int,
    complete: unsafe extern "C" fn(Handle) -> c_int,
    ptx: (SizeOf, Fill),
    errors: (SizeOf, Fill),
    infos: (SizeOf, Fill),
    /// The functions above are code of it.
    _loaded: libloading::Library,
}

impl Library {
    /// Loads a library.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let fail = |source| Error::Load {
            path: path.to_owned(),
            source,
        };
        // SAFETY: see the module: the file is trusted, and so are its types.
        unsafe {
            let loaded = libloading::Library::new(path).map_err(fail)?;
            Ok(Self {
                create: *loaded.get(c"nvJitLinkCreate").map_err(fail)?,
                destroy: *loaded.get(c"nvJitLinkDestroy").map_err(fail)?,
                add: *loaded.get(c"nvJitLinkAddData").map_err(fail)?,
                complete: *loaded.get(c"nvJitLinkComplete").map_err(fail)?,
                ptx: (
                    *loaded.get(c"nvJitLinkGetLinkedPtxSize").map_err(fail)?,
                    *loaded.get(c"nvJitLinkGetLinkedPtx").map_err(fail)?,
                ),
                errors: (
                    *loaded.get(c"nvJitLinkGetErrorLogSize").map_err(fail)?,
                    *loaded.get(c"nvJitLinkGetErrorLog").map_err(fail)?,
                ),
                infos: (
                    *loaded.get(c"nvJitLinkGetInfoLogSize").map_err(fail)?,
                    *loaded.get(c"nvJitLinkGetInfoLog").map_err(fail)?,
                ),
                _loaded: loaded,
            })
        }
    }

    /// Asks whether an input can take part in a link.
    pub fn check(&self, options: &[String], input: &Input<'_>) -> Result<(), Error> {
        Session::new(self, options)?.add(input)
    }

    /// Links inputs of LTO-IR.
    pub fn link(&self, options: &[String], inputs: &[Input<'_>]) -> Result<Linked, Error> {
        let session = Session::new(self, options)?;
        inputs.iter().try_for_each(|input| session.add(input))?;
        // SAFETY: the handle is alive.
        let code = unsafe { (self.complete)(session.handle) };
        session.check("nvJitLinkComplete", code)?;
        let mut ptx = session
            .get(self.ptx)
            .map_err(|code| session.failure("nvJitLinkGetLinkedPtx", code))?;
        let end = ptx.iter().rposition(|byte| *byte != 0);
        ptx.truncate(end.map_or(0, |last| last + 1));
        let log = session.log(self.infos).trim().to_owned();
        let remarks = session.log(self.errors);
        Ok(Linked { ptx, log, remarks })
    }
}

/// One link in the library.
struct Session<'l> {
    library: &'l Library,
    handle: Handle,
}

impl<'l> Session<'l> {
    fn new(library: &'l Library, options: &[String]) -> Result<Self, Error> {
        let options: Vec<CString> = options.iter().map(|o| text(o)).collect::<Result<_, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: the options live until the call is over, and are as many as
        // it is told.
        let code =
            unsafe { (library.create)(&mut handle, pointers.len() as u32, pointers.as_ptr()) };
        // A failed call gives a handle, too, if it has something to say.
        let session = Self { library, handle };
        session.check("nvJitLinkCreate", code)?;
        Ok(session)
    }

    fn add(&self, input: &Input<'_>) -> Result<(), Error> {
        let name = text(input.name)?;
        // SAFETY: the handle is alive, and the data is borrowed.
        let code = unsafe {
            (self.library.add)(
                self.handle,
                input.kind.number(),
                input.data.as_ptr().cast(),
                input.data.len(),
                name.as_ptr(),
            )
        };
        self.check("nvJitLinkAddData", code)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), Error> {
        match code {
            0 => Ok(()),
            _ => Err(self.failure(call, code)),
        }
    }

    fn failure(&self, call: &'static str, code: c_int) -> Error {
        let log = self.log(self.library.errors);
        Error::Call { call, code, log }
    }

    /// What the library has to say, if anything.
    fn log(&self, functions: (SizeOf, Fill)) -> String {
        if self.handle.is_null() {
            return String::new();
        }
        let bytes = self.get(functions).unwrap_or_default();
        String::from_utf8_lossy(&bytes)
            .trim_matches('\0')
            .to_owned()
    }

    /// Asks for a size, and then for as many bytes.
    fn get(&self, (size_of, fill): (SizeOf, Fill)) -> Result<Vec<u8>, c_int> {
        let mut size = 0;
        // SAFETY: the handle is alive.
        let code = unsafe { size_of(self.handle, &mut size) };
        if code != 0 {
            return Err(code);
        }
        // A log without text has size 0 or 1, and may not be filled.
        let mut bytes = vec![0_u8; size];
        if size > 0 {
            // SAFETY: the handle is alive, and the buffer as long as asked.
            let code = unsafe { fill(self.handle, bytes.as_mut_ptr().cast()) };
            if code != 0 {
                return Err(code);
            }
        }
        Ok(bytes)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is alive, and this is its end.
            unsafe { (self.library.destroy)(&mut self.handle) };
        }
    }
}

fn text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::Nul(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_refused() {
        let missing = Library::open(Path::new("/no/such/library.so")).unwrap_err();
        assert!(
            missing
                .to_string()
                .starts_with("cannot load /no/such/library.so: ")
        );
        let other = Library::open(&std::env::current_exe().unwrap());
        assert!(matches!(other, Err(Error::Load { .. })));
    }
}
