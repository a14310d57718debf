//! Native rows of a function, made of its Mercury rows and the code in use.
//!
//! nvlink gives each machine instruction the last Mercury row at or before its
//! Mercury address, and writes a row where that is another one. A row of
//! inlined code names the row that calls it by number; where that one is not
//! written yet, it comes first, at the same place (case `lineinfo_replaced`).

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::super::expanded::{Places, Role};
use super::program::{self, Program, Step, Unit};

/// A row of a Mercury table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    address: u64,
    state: State,
    is_start: bool,
}

/// What makes a row another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    line: i64,
    file: u64,
    context: Context,
    /// It comes behind the second row that is no special opcode. nvlink takes
    /// it for another one than the same before.
    is_late: bool,
}

/// Why a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Code has it.
    Code,
    /// It calls others.
    Caller,
}

/// Into what a row is inlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Context {
    /// The number of the row that calls it, from 1 on; 0 for none.
    caller: u64,
    /// Where the name of its function stands.
    name: u64,
}

/// The rows of a sequence.
fn rows(bytes: &[u8], unit: &Unit, sequence: &Range<usize>) -> Option<Vec<Row>> {
    let mut program = Program::new(bytes, unit, sequence)?;
    let code_unit = program.code_unit();
    let mut row = Row {
        address: 0,
        state: State {
            line: 1,
            file: 1,
            context: Context::default(),
            is_late: false,
        },
        is_start: false,
    };
    let mut copies = 0;
    let mut rows = Vec::new();
    while !program.is_over() {
        let step = program.step()?;
        if let Step::Advance(distance) | Step::Special(distance, _) = step {
            let distance = distance.checked_mul(code_unit)?;
            row.address = row.address.checked_add(distance)?;
        }
        match step {
            Step::Line(lines) | Step::Special(_, lines) => {
                row.state.line = row.state.line.checked_add(lines)?;
            }
            Step::File(file) => row.state.file = file,
            Step::Context(caller, name) => row.state.context = Context { caller, name },
            Step::Start(is_start) => row.is_start = is_start,
            Step::EndSequence | Step::Advance(_) | Step::Copy | Step::Other => {}
        }
        if matches!(step, Step::Copy | Step::Special(..)) {
            rows.push(row);
            copies += u32::from(step == Step::Copy);
            row.state.is_late = copies > 1;
        }
    }
    Some(rows)
}

/// The instructions that make the rows of a function, from behind its address
/// to the end of the sequence. `None` if there are no rows to make them of.
pub(super) fn native(
    table: &[u8],
    unit: &Unit,
    sequence: &Range<usize>,
    places: &Places,
) -> Option<Vec<u8>> {
    let rows = rows(table, unit, sequence)?;
    let program = Program::new(table, unit, sequence)?;
    let mut writer = Writer::new(&rows, program);
    let mut next = 0;
    let mut last = None;
    for place in places.all.iter().filter(|p| p.role == Role::Instruction) {
        while rows
            .get(next)
            .is_some_and(|row| row.address <= place.mercury)
        {
            next += 1;
        }
        let Some(index) = next.checked_sub(1) else {
            continue;
        };
        match last.replace(index) {
            None => writer.first(place.native, index)?,
            Some(last) if rows[last].state != rows[index].state => {
                writer.row(place.native, index)?;
            }
            // The same row again, of which only the way there is written.
            Some(last) if last != index && !rows[index].state.is_late => {
                writer.pass(place.native);
            }
            Some(_) => {}
        }
    }
    last?;
    Some(writer.end(places.size))
}

/// Writes the rows of a sequence.
struct Writer<'r> {
    rows: &'r [Row],
    program: Program<'r>,
    bytes: Vec<u8>,
    /// How many rows count as written.
    count: u64,
    /// The numbers of rows that call inlined code, by their Mercury number.
    callers: FxHashMap<usize, u64>,
    address: u64,
    line: i64,
    /// The file of the last row, written or not.
    file: u64,
    context: Context,
}

impl<'r> Writer<'r> {
    fn new(rows: &'r [Row], program: Program<'r>) -> Self {
        Self {
            rows,
            program,
            bytes: Vec::new(),
            count: 0,
            callers: FxHashMap::default(),
            address: 0,
            line: 1,
            file: 1,
            context: Context::default(),
        }
    }

    /// The row of the function itself, which counts as the first one if that
    /// is marked as the start. Else the first one comes again.
    fn first(&mut self, address: u64, index: usize) -> Option<()> {
        let row = self.rows[index];
        self.bytes.extend(program::set_file(row.state.file));
        self.file = row.state.file;
        self.advance(address, row.state.line);
        if row.is_start {
            self.count = 1;
            self.callers.insert(0, 1);
            return Some(());
        }
        // Code that the first row calls counts as called by none.
        self.callers.insert(0, 0);
        self.row(address, index)
    }

    /// A row, after the rows that call it. `None` where a row is called by
    /// itself or by one further on.
    fn row(&mut self, address: u64, index: usize) -> Option<()> {
        let context = self.context(address, index)?;
        self.write(address, index, context, Written::Code);
        Some(())
    }

    /// The context of a row, with the numbers that rows have here.
    fn context(&mut self, address: u64, index: usize) -> Option<Context> {
        // From the row to the outermost that is not written yet.
        let mut missing = Vec::new();
        let mut at = index;
        let mut caller = loop {
            let number = usize::try_from(self.rows[at].state.context.caller).ok()?;
            let Some(caller) = number.checked_sub(1).filter(|&c| c < self.rows.len()) else {
                break 0;
            };
            if let Some(&written) = self.callers.get(&caller) {
                break written;
            }
            (caller < at).then_some(())?;
            missing.push(caller);
            at = caller;
        };
        for row in missing.into_iter().rev() {
            let name = self.rows[row].state.context.name;
            self.write(address, row, Context { caller, name }, Written::Caller);
            caller = self.count;
            self.callers.insert(row, caller);
        }
        let name = self.rows[index].state.context.name;
        Some(Context { caller, name })
    }

    /// nvlink writes the file of a row that only calls others if the context
    /// changes, and thinks that it did otherwise, too.
    fn write(&mut self, address: u64, index: usize, context: Context, written: Written) {
        let state = self.rows[index].state;
        let changes_context = context != self.context;
        if state.file != self.file && (written == Written::Code || changes_context) {
            self.bytes.extend(program::set_file(state.file));
        }
        self.file = state.file;
        if changes_context {
            let Context { caller, name } = context;
            self.bytes.extend(program::set_context(caller, name));
            self.context = context;
        }
        self.advance(address, state.line);
        self.count += 1;
    }

    fn advance(&mut self, address: u64, line: i64) {
        let distance = (address - self.address) / self.program.code_unit();
        let row = self.program.row(distance, line.saturating_sub(self.line));
        self.bytes.extend(row);
        self.address = address;
        self.line = line;
    }

    fn pass(&mut self, address: u64) {
        let distance = (address - self.address) / self.program.code_unit();
        self.bytes.extend(program::advance(distance, 0));
        self.address = address;
    }

    fn end(mut self, size: u64) -> Vec<u8> {
        let distance = size.saturating_sub(self.address) / self.program.code_unit();
        self.bytes.extend(program::advance(distance, 0));
        self.bytes.extend(program::END);
        self.bytes
    }
}
