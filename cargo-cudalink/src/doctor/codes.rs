//! What the codes of findings mean.

/// All codes in alphabetical order.
pub(crate) const MEANINGS: [(&str, &str); 16] = [
    (
        "arch-missing",
        "Linked code does not run on a processor that --arch asks for. Compile every object for it, and link again.",
    ),
    (
        "arch-missing-in-link",
        "The objects have code for a processor, and the device link leaves it out. Link with all of them in --arch, or \
         without --arch.",
    ),
    (
        "arch-missing-in-object",
        "An object lacks code for a processor that others have code for. On that processor its kernels are missing, and \
         its functions undefined. Compile all objects with the same -gencode options.",
    ),
    (
        "archive-already-linked",
        "A library holds its own device link beside objects that wait for one. What is linked is closed to the objects \
         that wait. Build the library without a device link, and link all of it with the program.",
    ),
    (
        "clang-offloading",
        "Clang's new driver, the default from Clang 21 on, puts device code into .llvm.offloading, for a link that Clang \
         itself makes (--offload-link). Compile with --no-offload-new-driver for a device link by other programs.",
    ),
    (
        "damaged",
        "A file cannot be looked at, because it is not whole or not what it begins like. Make it again.",
    ),
    (
        "held-twice",
        "The same object is there twice, so that its host code is doubly defined. Name it, or the library that holds it, \
         once.",
    ),
    (
        "left-to-optimizer",
        "A host compiler that optimizes when it links (-flto) puts all it makes of a file into a form of its own, device code \
         included. Compile CUDA sources without -flto; other host code may have it.",
    ),
    (
        "linked-before",
        "An object has been compiled again since the device link was made, and its module has kept its name, so that the host \
         linker takes both. Make the device link again. Code from sm_100 on is not compared.",
    ),
    (
        "linked-twice",
        "Two device links hold the same module, and both would register it. Link each object in one device link only.",
    ),
    (
        "never-linked",
        "An object waits for a device link that is not there, and the program will not link without it. \
         `cargo cudalink link` makes it of all objects with relocatable device code.",
    ),
    (
        "no-linked-code",
        "A finished file has device code that was never linked, so that none of its kernels can be launched. Make a \
         device link of its objects, and link the file again with that.",
    ),
    (
        "not-a-host-file",
        "The file is nothing that a host linker takes or makes. `cargo cudalink inspect` shows what is in cubins and \
         fatbins.",
    ),
    (
        "object-missing",
        "A device link holds a module whose object is not there, or was compiled again since. Nothing is registered until \
         every module that was linked has come. Link again with the objects of the program.",
    ),
    (
        "order",
        "A device link stands behind a library that it needs objects of. Linkers that read libraries once may not find \
         them; put it before all libraries.",
    ),
    ("unreadable", "The file does not exist or may not be read."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_documented_and_used() {
        let page = include_str!("../../../docs/host.md");
        let sources = [include_str!("checks.rs"), include_str!("survey.rs")];
        assert!(MEANINGS.is_sorted_by(|a, b| a.0 < b.0));
        for (code, _) in MEANINGS {
            assert!(page.contains(&format!("`{code}`")), "{code}");
            let quoted = format!("\"{code}\"");
            assert!(sources.iter().any(|text| text.contains(&quoted)), "{code}");
        }
        let codes = sources
            .iter()
            .flat_map(|text| text.split("code: \"").skip(1));
        for code in codes.filter_map(|rest| rest.split('"').next()) {
            assert!(MEANINGS.iter().any(|(known, _)| *known == code), "{code}");
        }
    }
}
