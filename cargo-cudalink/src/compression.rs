//! What options of `fatbinary` say about the compression of linked images.

use anyhow::{Result, bail};
use rustnvlink::fatbin::CompressionMode;

/// What was asked for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compression {
    /// `-compress-all`: not only large images.
    all: bool,
    /// `-compress=false`: none at all.
    pub(crate) off: bool,
    /// `-compress-mode`: how.
    mode: Mode,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Mode {
    #[default]
    Balance,
    Size,
    Speed,
    None,
}

impl Compression {
    /// Takes an option of `fatbinary` without its dashes; false where it is none of compression.
    pub(crate) fn option(
        &mut self,
        name: &str,
        value: impl FnOnce() -> Result<String>,
    ) -> Result<bool> {
        match name {
            "compress-all" => self.all = true,
            "compress-mode" => self.set_mode(&value()?)?,
            "compress" => {
                self.off = match value()?.as_str() {
                    "true" => false,
                    "false" => true,
                    other => bail!("-compress is true or false, not '{other}'"),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes the value of `-compress-mode`, of which the last one counts.
    pub(crate) fn set_mode(&mut self, value: &str) -> Result<()> {
        self.mode = match value {
            "default" | "balance" => Mode::Balance,
            "size" => Mode::Size,
            "speed" => Mode::Speed,
            "none" => Mode::None,
            _ => bail!(
                "'{value}' is no mode of compression: default, size, speed, balance and none are"
            ),
        };
        Ok(())
    }

    /// What `fatbinary` does, with images for debuggers and without.
    pub(crate) fn resolved(self, is_debug: bool) -> CompressionMode {
        let all = self.all || is_debug;
        match self.mode {
            _ if self.off => CompressionMode::None,
            Mode::None => CompressionMode::None,
            Mode::Size => CompressionMode::SIZE,
            Mode::Speed if all => CompressionMode::Lz4,
            Mode::Speed => CompressionMode::LargeLz4,
            Mode::Balance if all => CompressionMode::BALANCE,
            Mode::Balance => CompressionMode::Large,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each was asked of the `fatbinary` of CUDA 13.0.
    #[test]
    fn images_are_compressed_as_by_fatbinary() {
        let check = |words: &str, is_debug, expected| {
            let mut compression = Compression::default();
            for word in words.split_terminator(' ') {
                let (name, value) = word.split_once('=').unwrap_or((word, ""));
                let is_known = compression.option(name, || Ok(value.to_owned()));
                assert!(is_known.expect(word), "{word}");
            }
            let resolved = compression.resolved(is_debug);
            assert_eq!(resolved, expected, "{words}, debug: {is_debug}");
        };
        check("", false, CompressionMode::Large);
        check("", true, CompressionMode::BALANCE);
        check("compress-mode=default", false, CompressionMode::Large);
        check("compress-mode=balance", true, CompressionMode::BALANCE);
        check("compress-all", false, CompressionMode::BALANCE);
        check("compress-mode=size", false, CompressionMode::SIZE);
        check("compress-mode=speed", false, CompressionMode::LargeLz4);
        check("compress-mode=speed", true, CompressionMode::Lz4);
        check(
            "compress-all compress-mode=speed",
            false,
            CompressionMode::Lz4,
        );
        check(
            "compress-mode=none compress-all",
            true,
            CompressionMode::None,
        );
        check(
            "compress-mode=size compress-mode=none",
            false,
            CompressionMode::None,
        );
        check("compress=false compress-all", false, CompressionMode::None);
        check(
            "compress=false compress-mode=size",
            false,
            CompressionMode::None,
        );
        check(
            "compress=true compress-all",
            false,
            CompressionMode::BALANCE,
        );
    }

    #[test]
    fn other_words_are_refused() {
        let mut compression = Compression::default();
        let value = |text: &str| Ok(text.to_owned());
        assert!(
            compression
                .option("compress-mode", || value("best"))
                .is_err()
        );
        assert!(compression.option("compress", || value("1")).is_err());
        assert!(
            !compression
                .option("ident", || value("x"))
                .expect("none of these")
        );
    }
}
