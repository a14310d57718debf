//! Shows an install: one moving line on a terminal, one plain line for each step elsewhere.

use std::time::Duration;

use anstream::stream::IsTerminal;
use cudalink_toolkit::Event;
use indicatif::{ProgressBar, ProgressStyle};

use crate::style::{GOOD, QUIET, count};

/// What the user sees of an install, on the error stream.
pub(super) struct Progress {
    terminal: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            bar: None,
        }
    }

    pub(super) fn show(&mut self, event: Event<'_>) {
        match event {
            Event::Waiting => self.step(
                "waiting for another install of this version".to_owned(),
                None,
            ),
            Event::Present(root) => {
                self.clear();
                anstream::eprintln!("{GOOD}present{GOOD:#} {}", root.display());
            }
            Event::Begin { root, packages } => {
                anstream::eprintln!(
                    "{GOOD}installing{GOOD:#} {} into {}",
                    count(packages, "package"),
                    root.display()
                );
            }
            Event::Fetch {
                number,
                packages,
                requirement,
            } => {
                self.step(format!("[{number}/{packages}] {requirement}"), Some(number));
            }
            Event::Arrived(bytes) => {
                if let Some(bar) = &self.bar {
                    bar.set_position(bytes);
                }
            }
            Event::Again => self.say("it did not arrive whole; trying again"),
            Event::Unpack => {
                if let Some(bar) = &self.bar {
                    set_template(bar, "{spinner} unpacking {msg} {bytes}");
                }
            }
            Event::Done(root) => {
                self.clear();
                anstream::eprintln!("{GOOD}installed{GOOD:#} {}", root.display());
            }
        }
    }

    /// Begins a step; `number` is that of a package, whose bytes are counted.
    fn step(&mut self, text: String, number: Option<usize>) {
        self.clear();
        if !self.terminal {
            anstream::eprintln!("{QUIET}{text}{QUIET:#}");
            return;
        }
        let template = match number {
            Some(_) => "{spinner} {msg} {bytes} {bytes_per_sec}",
            None => "{spinner} {msg}",
        };
        let bar = ProgressBar::new_spinner();
        set_template(&bar, template);
        bar.set_message(text);
        bar.enable_steady_tick(Duration::from_millis(100));
        self.bar = Some(bar);
    }

    /// A word below what is shown.
    fn say(&self, text: &str) {
        let line = format!("{QUIET}{text}{QUIET:#}");
        match &self.bar {
            Some(bar) => bar.println(line),
            None => anstream::eprintln!("{line}"),
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// A failed install leaves no moving line under the error.
impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
