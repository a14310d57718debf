//! How a program ends that makes links.

/// The exit codes of programs that make links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// The image was written.
    Success,
    /// The command line or an input is at fault.
    Fatal,
    /// The program that was to be linked is at fault.
    LinkError,
}

impl Exit {
    /// The number the system sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Fatal => 1,
            Self::LinkError => 255,
        }
    }
}
