//! Names and lists that a link makes.
//!
//! Rows borrow them like the bytes of the inputs, so that copying a row is cheap. They are freed together when the link
//! ends.

use bumpalo::Bump;
use bumpalo::collections::String;

/// Where they are kept.
#[derive(Debug, Default)]
pub(crate) struct Arena(Bump);

impl Arena {
    /// The name that the parts make together.
    pub(crate) fn name(&self, parts: &[&str]) -> &str {
        let size = parts.iter().map(|part| part.len()).sum();
        let mut name = String::with_capacity_in(size, &self.0);
        for part in parts {
            name.push_str(part);
        }
        name.into_bump_str()
    }

    /// Keeps something large that only few rows refer to.
    pub(crate) fn keep<T: Copy>(&self, item: T) -> &T {
        self.0.alloc(item)
    }

    /// A list that nobody changes any more.
    pub(crate) fn list<T: Copy>(&self, items: &[T]) -> &[T] {
        self.0.alloc_slice_copy(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_keeps_stays_where_it_is() {
        let arena = Arena::default();
        let names: Vec<&str> = (0..1000)
            .map(|number| arena.name(&[".nv.info.", &number.to_string()]))
            .collect();
        let list = arena.list(&[1_u32, 2, 3]);
        assert_eq!(arena.name(&[]), "");
        assert_eq!(names[0], ".nv.info.0");
        assert_eq!(names[999], ".nv.info.999");
        assert_eq!(list, [1, 2, 3]);
    }
}
