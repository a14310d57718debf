//! Leaves out parts of a program for as long as the two linkers still differ in the same way.

use anyhow::{Result, bail, ensure};

use crate::build::Build;
use crate::check::{Outcome, Tools};
use crate::program::Program;

/// Looks for a small program that still has a difference of the class; without one, of the class
/// that comes first.
pub fn shrink(tools: &Tools, program: &Program, class: Option<&str>) -> Result<Program> {
    let Outcome::Different(differences) = tools.check(program)? else {
        bail!("the program makes no difference");
    };
    let class = class.unwrap_or(&differences[0].class);
    ensure!(
        differences.iter().any(|d| d.class == class),
        "no difference of class `{class}`"
    );
    let mut shrinker = Shrinker {
        tools,
        class,
        smallest: program.clone(),
    };
    loop {
        let before = shrinker.smallest.clone();
        shrinker.drop_units()?;
        shrinker.drop_bodies()?;
        shrinker.drop_pieces()?;
        shrinker.drop_items()?;
        if shrinker.smallest == before {
            return Ok(before);
        }
    }
}

struct Shrinker<'t> {
    tools: &'t Tools,
    class: &'t str,
    smallest: Program,
}

impl Shrinker<'_> {
    /// Makes a change if the difference stays.
    fn attempt(&mut self, edit: impl Fn(&mut Program)) -> Result<()> {
        let mut candidate = self.smallest.clone();
        edit(&mut candidate);
        if candidate == self.smallest {
            return Ok(());
        }
        if let Outcome::Different(differences) = self.tools.check(&candidate)?
            && differences.iter().any(|d| d.class == self.class)
        {
            self.smallest = candidate;
        }
        Ok(())
    }

    // What is left out comes later than what is tried next, so that places stay valid.

    fn drop_units(&mut self) -> Result<()> {
        for unit in (0..self.smallest.units.len()).rev() {
            self.attempt(|p| {
                p.units.remove(unit);
            })?;
        }
        Ok(())
    }

    fn drop_bodies(&mut self) -> Result<()> {
        for unit in 0..self.smallest.units.len() {
            self.attempt(|p| p.units[unit].options.clear())?;
            self.attempt(|p| p.units[unit].build = Build::default())?;
            for item in 0..self.smallest.units[unit].items.len() {
                self.attempt(|p| p.units[unit].items[item].pieces.clear())?;
            }
        }
        Ok(())
    }

    fn drop_pieces(&mut self) -> Result<()> {
        for unit in 0..self.smallest.units.len() {
            for item in 0..self.smallest.units[unit].items.len() {
                for piece in (0..self.smallest.units[unit].items[item].pieces.len()).rev() {
                    self.attempt(|p| {
                        p.units[unit].items[item].pieces.remove(piece);
                    })?;
                }
            }
        }
        Ok(())
    }

    fn drop_items(&mut self) -> Result<()> {
        for unit in 0..self.smallest.units.len() {
            for item in (0..self.smallest.units[unit].items.len()).rev() {
                self.attempt(|p| {
                    p.units[unit].items.remove(item);
                })?;
            }
            for option in (0..self.smallest.units[unit].options.len()).rev() {
                self.attempt(|p| {
                    p.units[unit].options.remove(option);
                })?;
            }
        }
        Ok(())
    }
}
