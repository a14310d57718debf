//! Processors by number, and what links with what.

use std::fmt;
use std::str::FromStr;

/// The letter behind a processor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suffix {
    /// `a`: features of this processor alone.
    A,
    /// `f`: features shared by the processor's family.
    F,
}

/// A processor, such as `sm_90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sm {
    /// The number: major version times ten, plus the minor version.
    pub number: u16,
    /// The letter, if there is one.
    pub suffix: Option<Suffix>,
}

/// Processors with the same instruction encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Family {
    /// sm_75.
    Turing,
    /// sm_80, sm_86, sm_87 and sm_88.
    Ampere,
    /// sm_89.
    Ada,
    /// sm_90.
    Hopper,
    /// sm_100 and sm_103.
    Blackwell100,
    /// sm_110.
    Blackwell110,
    /// sm_120 and sm_121.
    Blackwell120,
}

/// A text that names no processor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a processor name such as sm_90 or sm_100a")]
pub struct ParseSmError(pub String);

/// A text that names no processor that links can be for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no processor '{0}'; {help}", help = help_with(.0))]
pub struct UnknownSmError(pub String);

/// Numbers of processors that toolkits before 13.0 linked for.
const LEFT_BEHIND: &[&str] = &[
    "20", "21", "30", "32", "35", "37", "50", "52", "53", "60", "61", "62", "70", "72",
];

/// Advice for a text that names no processor that can be linked for.
pub(crate) fn help_with(text: &str) -> String {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    if text == "native" {
        return "no GPU is asked; `nvidia-smi --query-gpu=compute_cap --format=csv` prints the number of yours"
            .to_owned();
    }
    // Who takes a list has taken it apart at the commas.
    if text.contains(',') {
        return "one name belongs here, not several".to_owned();
    }
    if text.contains([';', ' ']) {
        return "several names have commas between them, where a list is taken".to_owned();
    }
    match Sm::known(&format!("sm_{}", digits.replace('.', ""))) {
        Ok(meant) => format!("did you mean '{meant}'?"),
        Err(_) => {
            let why = match LEFT_BEHIND.contains(&digits) {
                true => "CUDA 13 has left it behind; ",
                false => "",
            };
            format!("{why}there are {}", Sm::list(&Sm::KNOWN))
        }
    }
}

const fn plain(number: u16) -> Sm {
    Sm {
        number,
        suffix: None,
    }
}

const fn with(number: u16, suffix: Suffix) -> Sm {
    Sm {
        number,
        suffix: Some(suffix),
    }
}

impl Sm {
    /// Every processor that nvlink 13.0.88 links for, in its order.
    pub const KNOWN: [Self; 23] = [
        plain(75),
        plain(80),
        plain(86),
        plain(87),
        plain(88),
        plain(89),
        plain(90),
        with(90, Suffix::A),
        plain(100),
        with(100, Suffix::A),
        with(100, Suffix::F),
        plain(103),
        with(103, Suffix::A),
        with(103, Suffix::F),
        plain(110),
        with(110, Suffix::A),
        with(110, Suffix::F),
        plain(120),
        with(120, Suffix::A),
        with(120, Suffix::F),
        plain(121),
        with(121, Suffix::A),
        with(121, Suffix::F),
    ];

    /// The number with its letter, as options of compilers have it behind `sm_`, `compute_` and `lto_`.
    ///
    /// ```
    /// # use rustnvlink::arch::Sm;
    /// assert_eq!("sm_90a".parse::<Sm>().unwrap().number_and_letter(), "90a");
    /// ```
    pub fn number_and_letter(self) -> String {
        let letter = match self.suffix {
            Some(Suffix::A) => "a",
            Some(Suffix::F) => "f",
            None => "",
        };
        format!("{}{letter}", self.number)
    }

    /// The names of processors, with commas between them.
    pub fn list<'s>(processors: impl IntoIterator<Item = &'s Self>) -> String {
        let names: Vec<String> = processors.into_iter().map(Self::to_string).collect();
        names.join(", ")
    }

    /// The processor of this name, if links can be for it.
    ///
    /// # Errors
    ///
    /// Fails if there is none.
    pub fn known(name: &str) -> Result<Self, UnknownSmError> {
        let sm = name.parse().ok().filter(|sm| Self::KNOWN.contains(sm));
        sm.ok_or_else(|| UnknownSmError(name.to_owned()))
    }

    /// A processor without a letter.
    pub const fn new(number: u16) -> Self {
        plain(number)
    }

    /// The family, for processors nvlink 13.0.88 knows.
    pub fn family(self) -> Option<Family> {
        Some(match self.number {
            75 => Family::Turing,
            80 | 86 | 87 | 88 => Family::Ampere,
            89 => Family::Ada,
            90 => Family::Hopper,
            100 | 103 => Family::Blackwell100,
            110 => Family::Blackwell110,
            120 | 121 => Family::Blackwell120,
            _ => return None,
        })
    }

    /// Whether objects carry Mercury code beside the machine code.
    pub fn has_mercury(self) -> bool {
        self.number >= 100
    }

    /// Whether objects carry `.nv.compat`, and all relocations an addend.
    pub fn is_hopper_or_newer(self) -> bool {
        self.number >= 90
    }

    /// How much shared memory of fixed size a kernel may have that asks for
    /// more than any launch gives.
    pub(crate) fn largest_shared(self) -> u64 {
        match self.number {
            75 => 0x10000,
            80 | 87 => 0x28c00,
            90 | 100 | 103 | 110 => 0x38c00,
            _ => 0x18c00,
        }
    }

    /// Whether an object made for `self` may become part of a link for
    /// `target`. The case `arch_matrix` links every pair.
    ///
    /// The letter of the target never matters, and `f` on an object means the
    /// same as no letter: an object with `a` stays on its own number, any
    /// other may move to a later number of its family. The 8.x processors are
    /// the exception, where only 8.0 and 8.6 objects move, to 8.6 and 8.9.
    pub fn links_into(self, target: Self) -> bool {
        if self.number == target.number {
            return self.family().is_some();
        }
        match (self.number, target.number) {
            (80, 86 | 89) | (86, 89) => true,
            (from, to) => {
                from >= 100
                    && to > from
                    && self.suffix != Some(Suffix::A)
                    && self.family().is_some()
                    && self.family() == target.family()
            }
        }
    }
}

impl FromStr for Sm {
    type Err = ParseSmError;

    fn from_str(text: &str) -> Result<Self, ParseSmError> {
        let error = || ParseSmError(text.to_owned());
        let name = text.strip_prefix("sm_").ok_or_else(error)?;
        let (digits, suffix) = match name.as_bytes().last() {
            Some(b'a') => (&name[..name.len() - 1], Some(Suffix::A)),
            Some(b'f') => (&name[..name.len() - 1], Some(Suffix::F)),
            _ => (name, None),
        };
        if !digits.bytes().all(|b| b.is_ascii_digit()) || digits.starts_with('0') {
            return Err(error());
        }
        let number = digits.parse().map_err(|_| error())?;
        Ok(Self { number, suffix })
    }
}

impl fmt::Display for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number_and_letter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for sm in Sm::KNOWN {
            assert_eq!(sm.to_string().parse(), Ok(sm));
            assert!(sm.family().is_some());
        }
        for bad in [
            "",
            "sm_",
            "sm_a",
            "90",
            "sm_090",
            "sm_90b",
            "sm_+90",
            "sm_99999",
            "compute_90",
        ] {
            assert_eq!(bad.parse::<Sm>(), Err(ParseSmError(bad.to_owned())));
        }
    }

    #[test]
    fn links_are_for_processors_that_there_are() {
        assert_eq!(Sm::known("sm_90a"), Ok(with(90, Suffix::A)));
        let error = |name| Sm::known(name).unwrap_err().to_string();
        let text = error("sm_95");
        assert!(
            text.starts_with("there is no processor 'sm_95'; there are sm_75, sm_80,"),
            "{text}"
        );
        assert!(error("sm_35").contains("; CUDA 13 has left it behind; there are sm_75,"));
        for name in ["90", "sm90", "9.0", "compute_90", "SM_90"] {
            let text = format!("there is no processor '{name}'; did you mean 'sm_90'?");
            assert_eq!(error(name), text);
        }
        assert!(error("sm_80,sm_90").ends_with("; one name belongs here, not several"));
        for several in ["80;90", "sm_80 sm_90"] {
            assert!(error(several).contains("; several names have commas between them"));
        }
        assert!(error("native").contains("; no GPU is asked; `nvidia-smi "));
    }

    /// What nvlink 13.0.88 accepted without a word for one kernel per
    /// processor, object first.
    const MATRIX: &str = "\
75: 75
80: 80 86 89
86: 86 89
87: 87
88: 88
89: 89
90: 90 90a
90a: 90 90a
100: 100 100a 100f 103 103a 103f
100a: 100 100a 100f
100f: 100 100a 100f 103 103a 103f
103: 103 103a 103f
103a: 103 103a 103f
103f: 103 103a 103f
110: 110 110a 110f
110a: 110 110a 110f
110f: 110 110a 110f
120: 120 120a 120f 121 121a 121f
120a: 120 120a 120f
120f: 120 120a 120f 121 121a 121f
121: 121 121a 121f
121a: 121 121a 121f
121f: 121 121a 121f";

    #[test]
    fn objects_link_into_the_targets_nvlink_accepts() {
        assert_eq!(MATRIX.lines().count(), Sm::KNOWN.len());
        for (line, object) in MATRIX.lines().zip(Sm::KNOWN) {
            let (name, targets) = line.split_once(": ").unwrap();
            assert_eq!(format!("sm_{name}"), object.to_string());
            let accepted: Vec<String> = Sm::KNOWN
                .iter()
                .filter(|target| object.links_into(**target))
                .map(|target| target.to_string().split_off(3))
                .collect();
            assert_eq!(accepted.join(" "), targets, "{object}");
        }
        assert!(!Sm::new(70).links_into(Sm::new(70)));
    }
}
