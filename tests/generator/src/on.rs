//! For which processors the lists of instructions hold.

use crate::target::Target;

/// Which processors have the instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// All from this number on.
    From(u32),
    /// Those of these numbers that have instructions of one architecture.
    Specific(u32, u32),
}

impl On {
    /// Reads `80+`, `90a` or `100a..119a`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(number) = text.strip_suffix('+') {
            return Some(Self::From(number.parse().ok()?));
        }
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let number = |text: &str| text.strip_suffix('a')?.parse().ok();
        Some(Self::Specific(number(first)?, number(last)?))
    }

    /// Whether the processor is one of them.
    pub(crate) fn has(self, target: &Target) -> bool {
        match self {
            Self::From(number) => target.number >= number,
            Self::Specific(first, last) => {
                target.is_specific() && (first..=last).contains(&target.number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_have_what_their_line_says() {
        let has = |on: &str, target: &str| On::parse(on).unwrap().has(&target.parse().unwrap());
        assert!(has("80+", "90") && has("80+", "80") && !has("80+", "75"));
        assert!(has("90a", "90a") && !has("90a", "90") && !has("90a", "100a"));
        assert!(has("100a..119a", "103a") && !has("100a..119a", "120a"));
    }
}
