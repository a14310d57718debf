//! Relocation types: what each one patches, and what becomes of it in a link.
//!
//! A type is a row of a table. [`RelocationType::row`] finds it, [`Row::apply`]
//! writes a value into its bit fields and [`Row::implicit_addend`] reads one
//! back. Types without a row are refused by whoever meets them.

mod cuda;
mod mercury;
mod row;

use std::fmt;

pub use row::{ApplyError, BitField, Class, FunctionTarget, Row, Target};

/// The type number of a relocation. Any number is valid; known ones have a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelocationType(pub u32);

impl RelocationType {
    /// The first `R_MERCURY_*` number.
    const MERCURY: u32 = 0x10000;

    /// What is known of the type.
    pub fn row(self) -> Option<&'static Row> {
        let (rows, index) = match self.0.checked_sub(Self::MERCURY) {
            Some(index) => (&mercury::ROWS[..], index),
            None => (&cuda::ROWS[..], self.0),
        };
        rows.get(index as usize)
    }

    /// The name, as NVIDIA's tools print it.
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.name)
    }

    /// Whether the type belongs to the Mercury world.
    pub fn is_mercury(self) -> bool {
        self.0 >= Self::MERCURY
    }

    /// The type of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let find = |rows: &[Row]| rows.iter().position(|row| row.name == name);
        find(&cuda::ROWS)
            .map(|index| Self(index as u32))
            .or_else(|| find(&mercury::ROWS).map(|index| Self(index as u32 + Self::MERCURY)))
    }
}

impl fmt::Display for RelocationType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

impl fmt::Debug for RelocationType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Declares a table of rows and a constant for each of its types.
macro_rules! rows {
    ($table:ident from $first:literal; $($number:literal $name:ident => $row:expr;)*) => {
        #[expect(missing_docs, reason = "the row says all that is known of a type")]
        impl RelocationType {
            $(pub const $name: Self = Self($number);)*
        }

        /// The rows in order of their numbers.
        pub(super) static $table: [Row; [$($number),*].len()] =
            [$(Row { name: stringify!($name), ..$row }),*];

        const _: () = {
            let numbers = [$($number),*];
            let mut index = 0;
            while index < numbers.len() {
                assert!(numbers[index] == $first + index, "a row is out of order");
                index += 1;
            }
        };
    };
}
use rows;
