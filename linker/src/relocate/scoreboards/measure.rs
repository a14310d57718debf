//! How much of what compilers chose the rules explain, in objects of one's own.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use crate::cubin::{File, InfoRecords, SectionFlags};
use crate::merge::TableBranch;
use crate::parallel;

use super::deviations::Deviations;
use super::instruction::INSTRUCTION;
use super::pressure::Schedule;
use super::rules::{Choice, Rules};
use super::understood::Understood;
use super::{Chip, Event, First, Flow, MOST_EVENTS, Setting, Until, events};

/// A file that names one object in each line.
const LIST: &str = "RUSTNVLINK_SCOREBOARDS";
/// How many differences to list for each function.
const DETAIL: &str = "RUSTNVLINK_SCOREBOARDS_DETAIL";

/// What the rules say of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Explained,
    WrongBoards,
    WrongWaits,
    NoFlow,
    TooLong,
}

/// One function of an object.
struct Function<'d> {
    name: &'d str,
    code: &'d [u8],
    capsule: &'d [u8],
    tables: Vec<TableBranch>,
}

/// Counts what the rules explain, and lists differences in the order in which
/// blocks choose.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test has no options")]
#[ignore = "needs objects of one's own"]
fn measure() {
    let list = env::var_os(LIST).unwrap_or_else(|| panic!("{LIST} names no file"));
    let list = fs::read_to_string(list).expect("a list of paths");
    let most = env::var(DETAIL).map_or(0, |count| count.parse().expect("a number"));
    let paths: Vec<&Path> = list.lines().map(Path::new).collect();
    let found = parallel::map(&paths, usize::MAX, |path| judge_file(path, most));
    let mut counts = [0; 5];
    for (path, (verdicts, detail)) in paths.iter().zip(&found) {
        for verdict in verdicts {
            counts[*verdict as usize] += 1;
        }
        if !detail.is_empty() {
            print!("== {}\n{detail}", path.display());
        }
    }
    let [explained, boards, waits, no_flow, long] = counts;
    let all: usize = counts.iter().sum();
    println!(
        "{all} functions: {explained} explained, {boards} with other scoreboards, \
         {waits} with other waits, {no_flow} of unknown flow, {long} too long"
    );
}

fn judge_file(path: &Path, most: usize) -> (Vec<Verdict>, String) {
    let data = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = File::parse(&data).expect("a device object");
    let chip = Chip::of(file.header.processor());
    let mut detail = String::new();
    let judged = functions(&file)
        .into_iter()
        .map(|function| judge(&function, chip, most, &mut detail));
    (judged.collect(), detail)
}

/// The functions with native code.
fn functions<'d>(file: &File<'d>) -> Vec<Function<'d>> {
    let has_code = |flags: SectionFlags| flags.contains(SectionFlags::EXECINSTR);
    let sections = file.sections.iter().filter(|s| has_code(s.flags));
    let of_section = |section: &crate::cubin::Section<'d>| {
        let name = section.name.strip_prefix(".text.")?;
        let data_of = |name: &str| match file.section_by_name(name) {
            Some(section) => file.sections[section].data,
            None => &[],
        };
        let records = data_of(&format!(".nv.info.{name}"));
        let records: Vec<_> = InfoRecords::new(records).collect::<Result<_, _>>().ok()?;
        Some(Function {
            name,
            code: section.data,
            capsule: data_of(&format!(".nv.capmerc{}", section.name)),
            tables: TableBranch::of_records(&records),
        })
    };
    sections.filter_map(of_section).collect()
}

fn judge(function: &Function<'_>, chip: Chip, most: usize, detail: &mut String) -> Verdict {
    let Function {
        name,
        code,
        capsule,
        tables,
    } = function;
    if events(code).len() > MOST_EVENTS {
        return Verdict::TooLong;
    }
    let setting = Setting {
        tables,
        chip,
        capsule,
        is_lone: false,
    };
    let Some(understood) = Understood::new(code, &setting) else {
        return Verdict::NoFlow;
    };
    let schedule = Schedule::new(code, &understood, &setting);
    let ours = Rules::new(code, &understood, &schedule)
        .choose(First::IsLikeOthers, &Deviations::default());
    let Some(ours) = ours else {
        return Verdict::TooLong;
    };
    let Understood { events, flow, .. } = &understood;
    let made = Choice::made(code, events);
    let verdict = match (ours.boards == made.boards, ours.waits == made.waits) {
        (true, true) => return Verdict::Explained,
        (true, false) => Verdict::WrongWaits,
        (false, _) => Verdict::WrongBoards,
    };
    let differences = flow
        .order()
        .into_iter()
        .flatten()
        .filter_map(|at| difference(at, flow, events, &ours, &made));
    let differences: Vec<String> = differences.take(most).collect();
    if !differences.is_empty() {
        writeln!(detail, "-- {name}: {verdict:?}").expect("strings take all");
        differences.iter().for_each(|line| detail.push_str(line));
    }
    verdict
}

/// How ours differs at an instruction: its place, and the scoreboards and waits
/// of ours and the compiler.
fn difference(
    at: usize,
    flow: &Flow,
    events: &[Event],
    ours: &Choice,
    made: &Choice,
) -> Option<String> {
    let own = flow.own(at);
    let boards = |choice: &Choice| choice.boards[own.clone()].to_vec();
    let is_same = boards(ours) == boards(made) && ours.waits[at] == made.waits[at];
    let kinds = events[own.clone()].iter();
    let kinds: Vec<&str> = kinds
        .map(|event| match event.until {
            Until::Written => "write",
            Until::Read => "read",
        })
        .collect();
    (!is_same).then(|| {
        format!(
            "{:#06x} {kinds:?} ours {:?} {:#04x} compiler {:?} {:#04x}\n",
            at * INSTRUCTION,
            boards(ours),
            ours.waits[at],
            boards(made),
            made.waits[at],
        )
    })
}
