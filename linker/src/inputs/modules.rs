//! The names of modules, by which the host stub registers them.

#[cfg(feature = "program")]
use std::fmt::Write as _;
use std::path::Path;

use crate::raw_text;

/// A module that a link holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Module {
    /// Its host object names it, and registers it when the program starts.
    Named(String),
    /// Only nvlink has a name for it; nothing registers it.
    Unnamed(String),
}

impl Module {
    /// The name, nvlink's if need be.
    #[cfg(feature = "program")]
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Unnamed(name) => name,
        }
    }
}

/// The name nvlink gives to a module that has none: the path with everything
/// but letters and digits replaced. The path is joined, not normalised.
pub(super) fn name_of_path(folder: &Path, path: &str) -> String {
    let full = folder.join(raw_text::name(path));
    let full = raw_text::text(full.as_os_str());
    let mut name = String::with_capacity(full.len());
    for character in full.chars() {
        match character {
            _ if character.is_ascii_alphanumeric() => name.push(character),
            _ if raw_text::byte(character).is_some() => name.push('_'),
            // nvlink replaces bytes.
            _ => name.extend(std::iter::repeat_n('_', character.len_utf8())),
        }
    }
    name
}

/// The text of the file that `--register-link-binaries` names.
#[cfg(feature = "program")]
pub(crate) fn registration(modules: &[Module]) -> String {
    let mut text = format!("#define NUM_PRELINKED_OBJECTS {}\n", modules.len());
    for module in modules {
        let _ = writeln!(text, "DEFINE_REGISTER_FUNC({})", module.name());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_paths() {
        let check = |path: &str, expected: &str| {
            assert_eq!(name_of_path(Path::new("/a/b"), path), expected);
        };
        check("./foo-bar.cubin", "_a_b___foo_bar_cubin");
        check("/c/d.fatbin", "_c_d_fatbin");
        check("é.o", "_a_b____o");
    }

    #[cfg(feature = "program")]
    #[test]
    fn registration_counts_and_names() {
        assert_eq!(
            registration(&[Module::Named("_a".to_owned())]),
            "#define NUM_PRELINKED_OBJECTS 1\nDEFINE_REGISTER_FUNC(_a)\n"
        );
    }
}
