//! What LTO-IR was compiled with, as fatbins record it beside the code, and
//! what a link makes of records that differ.

use super::{Behaviour, Limits};
use crate::codes;
use crate::diagnostic::{Diagnostic, Severity};

/// The record of one fatbin. Files that hold LTO-IR alone have none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Record {
    lines: bool,
    remarks: bool,
    values: [Option<i32>; Choice::ALL.len()],
}

/// An option that has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Registers,
    Flushing,
    Division,
    Roots,
    Fusing,
    Threads,
}

impl Choice {
    /// All, in the order in which nvlink compares them.
    const ALL: [Self; 6] = [
        Self::Registers,
        Self::Flushing,
        Self::Division,
        Self::Roots,
        Self::Fusing,
        Self::Threads,
    ];

    /// What stands before the value in a record.
    fn recorded(self) -> &'static str {
        match self {
            Self::Registers => "-maxreg ",
            Self::Flushing => "-ftz=",
            Self::Division => "-prec_div=",
            Self::Roots => "-prec_sqrt=",
            Self::Fusing => "-fmad=",
            Self::Threads => "-split-compile ",
        }
    }

    /// How nvcc spells it.
    fn spelling(self) -> &'static str {
        match self {
            Self::Registers => "-maxrregcount",
            Self::Flushing => "-ftz",
            Self::Division => "-prec-div",
            Self::Roots => "-prec-sqrt",
            Self::Fusing => "-fmad",
            Self::Threads => "-split-compile",
        }
    }

    /// Of arithmetic: the value that is exact, and the option of the optimizer
    /// for the other one.
    fn arithmetic(self) -> Option<(i32, &'static str)> {
        match self {
            Self::Flushing => Some((0, "-ftz=1")),
            Self::Division => Some((1, "-prec-div=0")),
            Self::Roots => Some((1, "-prec-sqrt=0")),
            Self::Fusing => Some((0, "-fma=0")),
            Self::Registers | Self::Threads => None,
        }
    }
}

impl Record {
    /// Reads what the compiler was told.
    pub(super) fn parse(options: &[u8]) -> Self {
        let options = String::from_utf8_lossy(options);
        let value = |choice: Choice| {
            let (_, value) = options.split_once(choice.recorded())?;
            Some(leading_number(value))
        };
        Self {
            lines: options.contains("-generate-line-info"),
            remarks: options.contains("-inline-info"),
            values: Choice::ALL.map(value),
        }
    }

    fn value(&self, choice: Choice) -> Option<i32> {
        self.values[choice as usize]
    }
}

/// The number that a text begins with, 0 if there is none.
fn leading_number(text: &str) -> i32 {
    let text = text.trim_ascii_start();
    let digits = text.trim_start_matches(['+', '-']);
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let number = digits[..end.unwrap_or(digits.len())].parse().unwrap_or(0);
    match text.starts_with('-') {
        true => -number,
        false => number,
    }
}

/// What everything is compiled with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) limits: Limits,
    /// What the optimizer is told of arithmetic.
    pub(super) inexact: Vec<&'static str>,
    /// Whether it tells what it does.
    pub(super) remarks: bool,
}

impl Agreed {
    /// What the link itself says.
    pub(super) fn by(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }
}

/// Finds what all records have in common. What the link says of registers comes
/// before what they say, and behind it for threads. nvlink ends where records
/// differ, unless some just lack what others have.
pub(super) fn agree(
    records: &[Option<Record>],
    said: Limits,
    behaviour: Behaviour,
    notes: &mut Vec<Diagnostic>,
) -> Result<Agreed, Diagnostic> {
    let known: Vec<&Record> = records.iter().flatten().collect();
    let with_lines = known.iter().filter(|record| record.lines).count();
    // What nvlink says of it changes nothing.
    if with_lines > 0 && with_lines < known.len() && behaviour == Behaviour::Nvlink {
        notes.push(lacking("-lineinfo", "-lineinfo"));
    }
    let mut agreed = Agreed::by(said);
    let limits_registers = said.registers.is_some_and(|count| count > 0);
    for choice in Choice::ALL {
        if choice == Choice::Registers && limits_registers {
            continue;
        }
        let values: Vec<i32> = known.iter().filter_map(|r| r.value(choice)).collect();
        let Some(&first) = values.first() else {
            continue;
        };
        let differ = values.iter().any(|value| *value != first);
        if differ && behaviour == Behaviour::Nvlink {
            let spelling = choice.spelling();
            let text = format!("Cicc option values for '{spelling}' do not match");
            return Err(Diagnostic::fatal(codes::MIXED_OPTIONS, text));
        }
        match choice {
            Choice::Registers => {
                let least = values.iter().copied().min();
                let taken = format!("{}={}", choice.spelling(), least.unwrap_or(first));
                if differ {
                    notes.push(mixed(choice.spelling(), &taken));
                } else if values.len() < known.len() {
                    notes.push(lacking(choice.spelling(), &taken));
                }
                agreed.limits.registers = least;
            }
            // 0 stands for as many as there are processors.
            Choice::Threads => {
                let most = values.iter().copied().max_by_key(|n| (*n == 0, *n));
                agreed.limits.threads = most;
            }
            Choice::Flushing | Choice::Division | Choice::Roots | Choice::Fusing => {
                if behaviour == Behaviour::Own {
                    arithmetic(choice, records, &mut agreed, notes);
                }
            }
        }
    }
    agreed.remarks = known.iter().any(|record| record.remarks);
    Ok(agreed)
}

/// Has the optimizer make what all files ask for, or where they differ what is
/// exact. nvlink does not tell it.
fn arithmetic(
    choice: Choice,
    records: &[Option<Record>],
    agreed: &mut Agreed,
    notes: &mut Vec<Diagnostic>,
) {
    let Some((exact, option)) = choice.arithmetic() else {
        return;
    };
    let value = |record: &Option<Record>| record.as_ref().and_then(|r| r.value(choice));
    let is_exact = |record| value(record) == Some(exact);
    let is_inexact = |record| value(record).is_some_and(|value| value != exact);
    let some_exact = records.iter().any(is_exact);
    if some_exact && records.iter().any(is_inexact) {
        let spelling = choice.spelling();
        let taken = format!("{spelling}={}", exact != 0);
        notes.push(mixed(spelling, &taken));
    }
    // Without being told, the optimizer fuses and is exact in all else.
    let is_told = match choice {
        Choice::Fusing => some_exact,
        _ => records.iter().all(is_inexact),
    };
    if is_told {
        agreed.inexact.push(option);
    }
}

fn lacking(spelling: &str, taken: &str) -> Diagnostic {
    let text = format!(
        "Some objects do not have '{spelling}' specified but others do; will build everything with '{taken}'"
    );
    Diagnostic::new(Severity::Info, codes::MIXED_OPTIONS, text)
}

fn mixed(spelling: &str, taken: &str) -> Diagnostic {
    let text = format!(
        "Objects were compiled with different values of '{spelling}'; will build everything with '{taken}'"
    );
    Diagnostic::new(Severity::Info, codes::MIXED_OPTIONS, text)
}

#[cfg(test)]
mod tests {
    use super::{Agreed, Behaviour, Diagnostic, Limits, Record, agree};

    const PLAIN: &str = "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 ";

    fn agree_on(
        records: &[&str],
        behaviour: Behaviour,
    ) -> (Result<Agreed, Diagnostic>, Vec<String>) {
        let records: Vec<_> = records
            .iter()
            .map(|record| Some(Record::parse(record.as_bytes())))
            .collect();
        let mut notes = Vec::new();
        let agreed = agree(&records, Limits::default(), behaviour, &mut notes);
        (agreed, notes.into_iter().map(|note| note.text).collect())
    }

    #[test]
    fn values_are_numbers_wherever_they_stand() {
        let record = Record::parse(b"-maxreg 32 -x -ftz=x -prec_div= 1 -fmad=01x -fmad=0");
        assert_eq!(
            record.values,
            [Some(32), Some(0), Some(1), None, Some(1), None]
        );
        assert_eq!(Record::parse(b""), Record::default());
        assert_eq!(
            Record::parse(b"-ftz=99999999999999999999").values[1],
            Some(0)
        );
    }

    #[test]
    fn what_is_exact_wins() {
        let fast = "-ftz=1 -prec_div=0 -prec_sqrt=0 -fmad=1 ";
        let (agreed, notes) = agree_on(&[fast, fast], Behaviour::Own);
        let all = ["-ftz=1", "-prec-div=0", "-prec-sqrt=0"];
        assert_eq!(agreed.unwrap().inexact, all);
        assert!(notes.is_empty());
        let (agreed, notes) = agree_on(&[fast, PLAIN], Behaviour::Own);
        assert!(agreed.unwrap().inexact.is_empty());
        assert_eq!(notes.len(), 3);
        let (agreed, notes) = agree_on(
            &[PLAIN, "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=0 "],
            Behaviour::Own,
        );
        assert_eq!(agreed.unwrap().inexact, ["-fma=0"]);
        assert_eq!(
            notes,
            [
                "Objects were compiled with different values of '-fmad'; will build everything with '-fmad=false'"
            ]
        );
    }

    #[test]
    fn the_smallest_limit_and_most_threads_hold_for_all() {
        let records = [
            "-maxreg 40 -split-compile 3 ",
            "-maxreg 32 -split-compile 0 ",
            PLAIN,
        ];
        let (agreed, notes) = agree_on(&records, Behaviour::Own);
        let limits = Limits {
            registers: Some(32),
            threads: Some(0),
        };
        assert_eq!(agreed.unwrap(), Agreed::by(limits));
        assert_eq!(
            notes,
            [
                "Objects were compiled with different values of '-maxrregcount'; will build everything with '-maxrregcount=32'"
            ]
        );
    }

    #[test]
    fn lines_are_mentioned_where_nvlink_does() {
        let records = ["-generate-line-info ", PLAIN];
        assert_eq!(agree_on(&records, Behaviour::Nvlink).1.len(), 1);
        assert!(agree_on(&records, Behaviour::Own).1.is_empty());
    }

    #[test]
    fn nvlink_ends_where_values_differ() {
        let (failed, notes) = agree_on(&["-maxreg 40 ", "-maxreg 32 "], Behaviour::Nvlink);
        assert_eq!(
            failed.unwrap_err().text,
            "Cicc option values for '-maxrregcount' do not match"
        );
        assert!(notes.is_empty());
        let (agreed, _) = agree_on(&["-fmad=0 "], Behaviour::Nvlink);
        assert!(agreed.unwrap().inexact.is_empty());
    }
}
