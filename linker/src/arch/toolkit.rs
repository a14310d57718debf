//! Releases of the CUDA toolkit, whose compilers make the objects.

/// A release of the toolkit, times ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Toolkit(pub(crate) u16);

impl Toolkit {
    /// The first one whose objects for sm_90 can be linked.
    pub(crate) const OLDEST: Self = Self(120);
    /// The one whose linker this one is like.
    pub(crate) const FOLLOWED: Self = Self(130);
    /// The newest one whose objects were compared with what its own linker makes of them.
    pub(crate) const NEWEST_COMPARED: Self = Self(135);

    /// Whether what its compilers make is laid out as in the release that is followed. Within a
    /// major release only attributes come and go (docs/format/notes.md).
    pub(crate) fn is_alike(self) -> bool {
        self.0 / 10 <= Self::FOLLOWED.0 / 10
    }
}

impl std::fmt::Display for Toolkit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0 / 10, self.0 % 10)
    }
}
