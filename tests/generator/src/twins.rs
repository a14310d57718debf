//! Functions of one name that are not one function: static ones of several units, and what the compiler adds to each.

use std::collections::BTreeSet;

use anyhow::Result;
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object as _, ObjectSection as _};

use crate::program::{Language, Program};

/// The names that units of the program share though each means its own function, whether they get into the image or not.
/// Of those in CUDA, which the compiler mangles, nothing is known here.
pub(crate) fn of_program(program: &Program) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut twins = BTreeSet::new();
    for unit in &program.units {
        if unit.language != Language::Ptx {
            continue;
        }
        let definitions = unit.items.iter().filter(|item| !item.tail.is_empty());
        let own: BTreeSet<&str> = definitions
            .filter_map(|item| static_name(&item.head))
            .collect();
        for name in own {
            if !seen.insert(name.to_owned()) {
                twins.insert(name.to_owned());
            }
        }
    }
    twins
}

/// The name that stands before the last list of parameters.
fn static_name(head: &str) -> Option<&str> {
    let line = head.lines().next()?;
    let (before, _) = line.strip_prefix(".func")?.rsplit_once(" (")?;
    before.split_whitespace().last()
}

/// The names that functions of an image share.
pub(crate) fn of_image(image: &[u8]) -> Result<BTreeSet<String>> {
    let file = ElfFile::<FileHeader64<Endianness>>::parse(image)?;
    let mut seen = BTreeSet::new();
    let mut twins = BTreeSet::new();
    for section in file.sections() {
        if let Some(name) = section.name()?.strip_prefix(".text.")
            && !seen.insert(name.to_owned())
        {
            twins.insert(name.to_owned());
        }
    }
    Ok(twins)
}

/// Whether what a difference is about has one of these names.
pub(crate) fn concerns(key: &str, twins: &BTreeSet<String>) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    key.split(|c| !is_part(c)).any(|word| twins.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_static_functions_are_found() {
        let name = |head| static_name(head);
        assert_eq!(name(".func q$q_f ()\n{"), Some("q$q_f"));
        assert_eq!(
            name(".func (.param .b32 result) s_f (.param .align 4 .b8 p0[8])"),
            Some("s_f")
        );
        assert_eq!(name(".visible .func s_f ()"), None);
    }

    #[test]
    fn differences_concern_whole_names() {
        let twins = BTreeSet::from(["s_f".to_owned()]);
        assert!(concerns("section.text.s_f.size", &twins));
        assert!(concerns("symbol.s_f#2.value", &twins));
        assert!(!concerns("section.text.s_f1.size", &twins));
    }
}
