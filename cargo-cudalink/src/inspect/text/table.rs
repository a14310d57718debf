//! Columns that line up. The last column is free, so that long names never push numbers away.

use std::io::{self, Write};

use crate::style::QUIET;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(columns: &[(&str, Align)]) -> Self {
        Self {
            columns: columns.iter().map(|(n, a)| ((*n).to_owned(), *a)).collect(),
            rows: Vec::new(),
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
        if self.rows.is_empty() {
            return Ok(());
        }
        let used: Vec<usize> = (0..self.columns.len())
            .filter(|c| self.rows.iter().any(|row| !row[*c].is_empty()))
            .collect();
        let width = |c: usize| {
            let cells = self.rows.iter().map(|row| row[c].chars().count());
            cells
                .chain([self.columns[c].0.chars().count()])
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = used.iter().map(|c| width(*c)).collect();
        let line = |cell: &dyn Fn(usize) -> String| {
            let mut line = " ".repeat(indent);
            for (c, width) in used.iter().zip(&widths) {
                let cell = cell(*c);
                let width = *width;
                match self.columns[*c].1 {
                    Align::Left => line.push_str(&format!("{cell:<width$}  ")),
                    Align::Right => line.push_str(&format!("{cell:>width$}  ")),
                }
            }
            line.trim_end().to_owned()
        };
        writeln!(
            out,
            "{QUIET}{}{QUIET:#}",
            line(&|c| self.columns[c].0.clone())
        )?;
        for row in &self.rows {
            writeln!(out, "{}", line(&|c| row[c].clone()))?;
        }
        Ok(())
    }
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
        let mut table = Table::new(&[
            ("SIZE", Align::Right),
            ("RARE", Align::Left),
            ("NAME", Align::Left),
        ]);
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
}
