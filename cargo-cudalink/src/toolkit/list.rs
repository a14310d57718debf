//! `cargo cudalink toolkit list`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use cudalink_toolkit::{
    Attempt, Environment, LIBRARIES, NotFound, Origin, Search, Survey, Toolkit,
};
use serde::Serialize;

use super::Choice;
use crate::streams;
use crate::style::{self, Format, GOOD, QUIET};

/// How long lines are where nothing is known of the terminal.
const WIDTH: usize = 80;

/// The list for programs.
#[derive(Debug, Serialize)]
struct Report {
    toolkits: Vec<Found>,
    tried: Vec<Tried>,
}

#[derive(Debug, Serialize)]
struct Found {
    root: PathBuf,
    origin: String,
    /// Absent when `nvcc` does not tell it.
    version: Option<String>,
    /// Those of the names that `toolkit install --with` takes.
    libraries: Vec<&'static str>,
    chosen: bool,
}

#[derive(Debug, Serialize)]
struct Tried {
    origin: String,
    place: Option<PathBuf>,
    reason: String,
}

/// Lists the toolkits. Without any, text is an error that says where it looked, and JSON is an empty list.
pub(super) fn run(environment: &Environment, choice: &Choice, format: Format) -> Result<()> {
    let mut survey = Search::new(environment).survey();
    if let Some(choice) = &choice.toolkit {
        let chosen = super::find(Some(choice))?;
        survey
            .found
            .retain(|toolkit| toolkit.root() != chosen.root());
        survey.found.insert(0, chosen);
    }
    match format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&report(&survey))?;
            streams::print(format!("{text}\n").as_bytes())
        }
        Format::Text if survey.found.is_empty() => Err(NotFound {
            tried: survey.tried,
        }
        .into()),
        Format::Text => {
            for attempt in survey.tried.iter().filter(|one| one.is_of_variable()) {
                style::note(&attempt.to_string());
            }
            streams::printed(write_text(&survey.found))
        }
    }
}

fn report(survey: &Survey) -> Report {
    let found = |(index, toolkit): (usize, &Toolkit)| Found {
        root: toolkit.root().to_owned(),
        origin: toolkit.origin().to_string(),
        version: toolkit.version().ok().map(ToString::to_string),
        libraries: libraries(toolkit, true),
        chosen: index == 0,
    };
    let tried = |attempt: &Attempt| Tried {
        origin: attempt.origin.to_string(),
        place: attempt.place.clone(),
        reason: attempt.refusal.to_string(),
    };
    Report {
        toolkits: survey.found.iter().enumerate().map(found).collect(),
        tried: survey.tried.iter().map(tried).collect(),
    }
}

/// The libraries that a toolkit has, or those that it lacks.
fn libraries(toolkit: &Toolkit, there: bool) -> Vec<&'static str> {
    let wanted = LIBRARIES
        .iter()
        .filter(|library| library.is_in(toolkit.root()) == there);
    wanted.map(|library| library.name).collect()
}

fn write_text(found: &[Toolkit]) -> io::Result<()> {
    let mut out = style::stdout();
    let lines: Vec<(String, String, &Toolkit)> = found
        .iter()
        .map(|toolkit| {
            let version = toolkit
                .version()
                .map_or_else(|_| "unknown".to_owned(), ToString::to_string);
            (version, toolkit.origin().to_string(), toolkit)
        })
        .collect();
    let versions = lines
        .iter()
        .map(|(version, ..)| version.len())
        .max()
        .unwrap_or(0);
    let origins = lines
        .iter()
        .map(|(_, origin, _)| origin.len())
        .max()
        .unwrap_or(0);
    for (index, (version, origin, toolkit)) in lines.iter().enumerate() {
        let (mark, style) = if index == 0 {
            ("*", GOOD)
        } else {
            (" ", QUIET)
        };
        let root = toolkit.root().display();
        writeln!(
            out,
            "{style}{mark} {version:versions$}{style:#}  {origin:origins$}  {root}"
        )?;
        more(&mut out, "libraries", &libraries(toolkit, true))?;
        if toolkit.origin() == Origin::Cache {
            let lacks = libraries(toolkit, false);
            more(&mut out, "`toolkit install --with` adds", &lacks)?;
        }
    }
    out.flush()
}

/// Lines of words below a toolkit.
fn more(out: &mut impl io::Write, what: &str, words: &[&str]) -> io::Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    let width = style::width().unwrap_or(WIDTH);
    let mut line = format!("  {what}:");
    for (index, word) in words.iter().enumerate() {
        let comma = if index + 1 < words.len() { "," } else { "" };
        if line.len() + 1 + word.len() + comma.len() > width {
            writeln!(out, "{QUIET}{line}{QUIET:#}")?;
            line = " ".repeat(3);
        }
        line = format!("{line} {word}{comma}");
    }
    writeln!(out, "{QUIET}{line}{QUIET:#}")
}
