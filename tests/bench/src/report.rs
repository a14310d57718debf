//! The table of results.

use std::time::Duration;

use clap::ValueEnum;

use crate::measure::{Ended, Measured};

/// How the table is written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// Columns for a terminal.
    Text,
    /// A table for a document.
    Markdown,
}

/// Whether both linkers write the same image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    Same,
    Differ,
    /// nvlink wrote none.
    Unknown,
}

/// One shape.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) shape: String,
    /// Bytes of the inputs.
    pub(crate) size: u64,
    pub(crate) nvlink: Measured,
    pub(crate) ours: Measured,
    pub(crate) identity: Identity,
    pub(crate) limit: Duration,
}

const HEAD: [&str; 8] = [
    "shape",
    "input",
    "nvlink",
    "ours",
    "faster",
    "memory nvlink",
    "memory ours",
    "bytes",
];

impl Row {
    fn cells(&self) -> [String; 8] {
        let is_stopped = self.nvlink.ended != Ended::Code(0);
        let (at_least, theirs) = match self.nvlink.ended {
            Ended::TimedOut => ("> ", seconds(self.limit.as_secs_f64())),
            Ended::Signal(_) | Ended::Code(_) if is_stopped => ("", self.nvlink.ended.to_string()),
            Ended::Signal(_) | Ended::Code(_) => ("", seconds(self.nvlink.seconds)),
        };
        let factor = self.nvlink.seconds / self.ours.seconds;
        let factor = match factor {
            ..10.0 => format!("{factor:.1}"),
            _ => format!("{factor:.0}"),
        };
        let identity = match self.identity {
            Identity::Same => "same",
            Identity::Differ => "DIFFER",
            Identity::Unknown => "not compared",
        };
        [
            self.shape.clone(),
            size(self.size),
            format!("{at_least}{theirs}"),
            seconds(self.ours.seconds),
            format!("{at_least}{factor} x"),
            match is_stopped {
                true => "-".to_owned(),
                false => size(self.nvlink.memory),
            },
            size(self.ours.memory),
            identity.to_owned(),
        ]
    }
}

/// Three digits of a time.
fn seconds(seconds: f64) -> String {
    match seconds {
        ..0.01 => format!("{:.1} ms", seconds * 1e3),
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        ..10.0 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

fn size(bytes: u64) -> String {
    match bytes.div_ceil(1000) {
        kilobytes @ ..1000 => format!("{kilobytes} KB"),
        kilobytes @ ..10_000 => format!("{:.1} MB", kilobytes as f64 / 1e3),
        kilobytes => format!("{} MB", kilobytes / 1000),
    }
}

/// All rows in columns.
pub(crate) fn table(rows: &[Row], format: Format) -> String {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let widths: [usize; 8] = std::array::from_fn(|column| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or(0)
    });
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(widths).enumerate();
        let padded = cells.map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let padded: Vec<String> = padded.collect();
        match format {
            Format::Text => text.push_str(padded.join("  ").trim_end()),
            Format::Markdown => text.push_str(&format!("| {} |", padded.join(" | "))),
        }
        text.push('\n');
        if number == 0 && matches!(format, Format::Markdown) {
            text.push_str(&format!("|---|{}\n", "--:|".repeat(HEAD.len() - 1)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ended: Ended) -> Row {
        let measured = |ended, seconds| Measured {
            ended,
            seconds,
            memory: 12_345_678,
            text: String::new(),
        };
        Row {
            shape: "a shape".to_owned(),
            size: 999,
            nvlink: measured(ended, 6.0),
            ours: measured(Ended::Code(0), 0.003),
            identity: Identity::Same,
            limit: Duration::from_secs(6),
        }
    }

    #[test]
    fn a_row_has_both_times_and_their_ratio() {
        let cells = row(Ended::Code(0)).cells();
        assert_eq!(cells[1..5], ["1 KB", "6.0 s", "3.0 ms", "2000 x"]);
        assert_eq!(cells[5..], ["12 MB", "12 MB", "same"]);
    }

    #[test]
    fn a_linker_that_was_stopped_needs_longer() {
        let cells = row(Ended::TimedOut).cells();
        assert_eq!(cells[2..6], ["> 6.0 s", "3.0 ms", "> 2000 x", "-"]);
    }

    #[test]
    fn a_markdown_table_has_a_rule() {
        let text = table(&[row(Ended::Code(0))], Format::Markdown);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("| shape"));
        assert_eq!(lines[1], "|---|--:|--:|--:|--:|--:|--:|--:|");
        let columns = |line: &str| line.matches('|').count();
        assert!(lines.iter().all(|line| columns(line) == columns(lines[0])));
    }
}
