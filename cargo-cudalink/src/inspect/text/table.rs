//! Columns that line up. The last column is free, so that long names never push numbers away. On a terminal it is broken
//! into lines, below the rest of its row where beside it is little room.

use std::io::{self, Write};

use crate::style::{self, QUIET};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    /// How long lines may be. Files and other programs get each row in one line.
    width: Option<usize>,
}

/// With less room than this beside its row, what is too long for it stands below.
const LEAST_ROOM: usize = 40;

/// What lies between two columns.
const GAP: usize = 2;

/// Columns of text are not made narrower than this.
const LEAST_WIDTH: usize = 16;

impl Table {
    pub(super) fn new(columns: &[(&str, Align)]) -> Self {
        Self {
            columns: columns.iter().map(|(n, a)| ((*n).to_owned(), *a)).collect(),
            rows: Vec::new(),
            width: style::width(),
        }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "one cell for each column");
        self.rows
            .push(cells.iter().map(|cell| clean(cell)).collect());
    }

    /// Writes the table with an empty line before it.
    pub(super) fn write_apart(&self, out: &mut impl Write, indent: usize) -> io::Result<()> {
        if !self.rows.is_empty() {
            writeln!(out)?;
        }
        self.write(out, indent)
    }

    /// Writes the headings and the rows. Columns without any text are left out, and so is a table without rows.
    pub(super) fn write(&self, out: &mut impl Write, indent: usize) -> io::Result<()> {
        let used: Vec<usize> = (0..self.columns.len())
            .filter(|c| self.rows.iter().any(|row| !row[*c].is_empty()))
            .collect();
        let Some((last, fixed)) = used.split_last() else {
            return Ok(());
        };
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let lines = Lines::new(self, indent, fixed, *last);
        for line in lines.of(&heading) {
            writeln!(out, "{QUIET}{line}{QUIET:#}")?;
        }
        for row in &self.rows {
            for line in lines.of(row) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    /// How wide a column is.
    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].chars().count());
        let heading = self.columns[column].0.chars().count();
        cells.fold(heading, usize::max)
    }
}

/// How the rows of a table become lines.
struct Lines<'t> {
    indent: usize,
    /// Columns in front of the last one, with their widths.
    fixed: Vec<(usize, Align, usize)>,
    last: (usize, Align, usize),
    table: &'t Table,
}

impl<'t> Lines<'t> {
    fn new(table: &'t Table, indent: usize, fixed: &[usize], last: usize) -> Self {
        let sized = |column: usize| (column, table.columns[column].1, table.width_of(column));
        let mut lines = Self {
            indent,
            fixed: fixed.iter().map(|column| sized(*column)).collect(),
            last: sized(last),
            table,
        };
        if let Some(width) = table.width {
            // Names of sections hold those of functions, so that columns of text may be too wide, too. Where they cannot be
            // narrow enough for the last column, it stands below them, and they have all the room.
            let as_they_are = lines.fixed.clone();
            let heading = table.columns[last].0.chars().count();
            if !lines.narrow(width.saturating_sub(heading)) {
                lines.fixed = as_they_are;
                lines.narrow(width + GAP);
            }
        }
        lines
    }

    /// Makes columns of text narrower until the last one can begin here, and says whether it can.
    fn narrow(&mut self, last: usize) -> bool {
        while self.before_last() > last {
            if !narrow(&mut self.fixed) {
                return false;
            }
        }
        true
    }

    /// Where the last column begins.
    fn before_last(&self) -> usize {
        let widths = self.fixed.iter().map(|(_, _, width)| width + GAP);
        self.indent + widths.sum::<usize>()
    }

    /// The lines of one row.
    fn of(&self, row: &[String]) -> Vec<String> {
        let mut line = " ".repeat(self.indent);
        for (column, align, width) in &self.fixed {
            let cell = shortened(&row[*column], *width);
            line.push_str(&aligned(&cell, *align, *width));
            line.push_str(&" ".repeat(GAP));
        }
        let (column, align, width) = self.last;
        let cell = &row[column];
        let (beside, below) = (self.before_last(), self.indent + 4);
        let fits = |limit: usize| beside + cell.chars().count() <= limit;
        let Some(limit) = self.table.width.filter(|limit| !fits(*limit)) else {
            line.push_str(&aligned(cell, align, width));
            return vec![line.trim_end().to_owned()];
        };
        let start = match beside + LEAST_ROOM > limit {
            true => below,
            false => beside,
        };
        let mut parts = broken(cell, limit.saturating_sub(start)).into_iter();
        if start == beside {
            line.push_str(parts.next().unwrap_or_default());
        }
        let mut lines = vec![line.trim_end().to_owned()];
        lines.extend(parts.map(|part| format!("{:start$}{part}", "")));
        lines
    }
}

fn aligned(cell: &str, align: Align, width: usize) -> String {
    match align {
        Align::Left => format!("{cell:<width$}"),
        Align::Right => format!("{cell:>width$}"),
    }
}

/// Makes the widest column of text narrower, and says whether there is one that can be.
fn narrow(columns: &mut [(usize, Align, usize)]) -> bool {
    let texts = columns
        .iter_mut()
        .filter(|(_, align, _)| *align == Align::Left);
    match texts.max_by_key(|(_, _, width)| *width) {
        Some((_, _, width)) if *width > LEAST_WIDTH => {
            *width -= 1;
            true
        }
        Some(_) | None => false,
    }
}

/// A text that fits into a column: its middle goes, since names of sections differ at their ends.
fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let front: String = text.chars().take(kept.div_ceil(2)).collect();
    let back: String = text.chars().skip(length - kept / 2).collect();
    format!("{front}…{back}")
}

/// A text in parts that fit into lines: behind a space, comma or angle bracket, else where the line ends.
fn broken(text: &str, width: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((end, _)) = rest.char_indices().nth(width.max(1)) {
        // A space behind the line is no part of the next one.
        let line = match rest[end..].starts_with(' ') {
            true => &rest[..=end],
            false => &rest[..end],
        };
        let cut = line.rfind([' ', ',', '<']).map(|at| at + 1);
        let cut = cut.filter(|cut| *cut > end / 3).unwrap_or(end);
        let (part, others) = rest.split_at(cut);
        parts.push(part.trim_end());
        rest = others.trim_start();
    }
    parts.push(rest);
    parts
}

/// Names come from files; none of their characters may reach the terminal as a command.
pub(in crate::inspect) fn clean(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    let shown = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rows: &[[&str; 3]], expected: &str) {
        check_within(None, rows, expected);
    }

    #[track_caller]
    fn check_within(width: Option<usize>, rows: &[[&str; 3]], expected: &str) {
        let mut table = Table::new(&[
            ("SIZE", Align::Right),
            ("RARE", Align::Left),
            ("NAME", Align::Left),
        ]);
        table.width = width;
        for row in rows {
            table.row(row.iter().map(|cell| (*cell).to_owned()).collect());
        }
        let mut out = Vec::new();
        table.write(&mut out, 2).unwrap();
        let plain = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        assert_eq!(plain, expected);
    }

    #[test]
    fn columns_line_up_and_empty_ones_vanish() {
        check(&[], "");
        check(
            &[["1", "", "a"], ["12345", "", "long name"]],
            "   SIZE  NAME\n      1  a\n  12345  long name\n",
        );
        check(
            &[["1", "x", ""], ["2", "", ""]],
            "  SIZE  RARE\n     1  x\n     2\n",
        );
        check(
            &[["1", "", "\x1b[31mred"]],
            "  SIZE  NAME\n     1  \\u{1b}[31mred\n",
        );
    }

    #[test]
    fn long_names_are_broken_where_lines_have_an_end() {
        let name = "void scale<double>(double *, const double *, int)";
        check_within(
            Some(52),
            &[["1", "", name], ["12345", "", "long name"]],
            "   SIZE  NAME\n      1  void scale<double>(double *, const double\n         *, int)\n  \
             12345  long name\n",
        );
        // With little room beside the other columns, they stand below them.
        check_within(
            Some(36),
            &[["1", "in constant bank", name], ["12345", "", "a name"]],
            "   SIZE  RARE              NAME\n      1  in constant bank\n      void scale<double>(double *,\n      \
             const double *, int)\n  12345                    a name\n",
        );
        // What fits stays as it is.
        check_within(
            Some(36),
            &[["1", "x", "a name"]],
            "  SIZE  RARE  NAME\n     1  x     a name\n",
        );
    }

    #[test]
    fn other_columns_of_text_lose_their_middle() {
        check_within(
            Some(30),
            &[["1", ".text._ZN5space8functionEPfi", "name"]],
            "  SIZE  RARE              NAME\n     1  .text._Z…ionEPfi  name\n",
        );
    }

    #[test]
    fn columns_keep_their_text_where_that_gives_the_last_one_no_room() {
        let kind = "relocatable, debug";
        check_within(
            Some(31),
            &[["12345", kind, "a name"]],
            "   SIZE  RARE              NAME\n  12345  relocata…, debug\n      a name\n",
        );
        check_within(
            Some(30),
            &[["12345", kind, "a name"]],
            "   SIZE  RARE\n      NAME\n  12345  relocatable, debug\n      a name\n",
        );
    }

    #[test]
    fn texts_break_where_they_can() {
        assert_eq!(broken("one two", 7), ["one two"]);
        assert_eq!(broken("one two", 4), ["one", "two"]);
        assert_eq!(broken("one two", 3), ["one", "two"]);
        assert_eq!(broken("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(broken("of<int>", 4), ["of<", "int>"]);
        assert_eq!(broken("", 3), [""]);
        assert_eq!(broken("äöü,ß", 4), ["äöü,", "ß"]);
    }
}
