//! What the name of a target tells: machine, vendor, system and environment, with dashes between them.

/// The machine.
pub(crate) fn machine(triple: &str) -> &str {
    triple.split('-').next().unwrap_or(triple)
}

/// Whether it is Linux, so that CUDA may be there.
pub(crate) fn is_linux(triple: &str) -> bool {
    triple.split('-').any(|part| part == "linux")
}

/// Whether programs use the C library musl.
pub(crate) fn is_for_musl(triple: &str) -> bool {
    let libc = triple.rsplit('-').next().unwrap_or_default();
    libc.starts_with("musl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_with_musl_are_known() {
        assert!(is_for_musl("x86_64-unknown-linux-musl"));
        assert!(is_for_musl("arm-unknown-linux-musleabihf"));
        assert!(!is_for_musl("x86_64-unknown-linux-gnu"));
    }

    #[test]
    fn machines_come_first() {
        assert_eq!(machine("aarch64-unknown-linux-gnu"), "aarch64");
        assert!(is_linux("aarch64-unknown-linux-gnu"));
        assert!(!is_linux("x86_64-pc-windows-msvc"));
    }
}
