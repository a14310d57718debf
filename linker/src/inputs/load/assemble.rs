//! PTX waits until all files have been looked at. Then it becomes objects, before LTO-IR is optimized.

use std::borrow::Cow;

use super::super::ToolError;
use super::super::ptx::{Fate, Product, Ptxas, Source as PtxSource};
use super::super::times::Compilation;
use super::{Loader, Stop};

/// PTX that the assembler gets once all files have been looked at.
pub(super) struct Waiting<'d> {
    /// How many objects come before it.
    place: usize,
    /// How many messages come before it.
    said: usize,
    source: PtxSource<'d>,
}

impl<'a, 'd> Loader<'a, 'd> {
    /// Remembers PTX for the assembler, at its place among objects and messages.
    pub(super) fn ptx(&mut self, source: PtxSource<'d>) {
        if self.wanted.is_compatible() {
            self.diagnostics.forget_options();
        }
        self.waiting.push(Waiting {
            place: self.images.len(),
            said: self.diagnostics.messages().len(),
            source,
        });
    }

    /// How many objects come before what is made of LTO-IR at hand. PTX becomes
    /// objects first.
    pub(super) fn place_of_next(&self) -> usize {
        self.images.len() + self.waiting.len()
    }

    /// Lets the assembler make objects of the PTX so far. What it says stands
    /// before what was said of later files.
    pub(super) fn assemble(&mut self) -> Result<(), Stop> {
        let waiting = std::mem::take(&mut self.waiting);
        let Some(first) = waiting.first() else {
            return Ok(());
        };
        let mut said = first.said;
        let mut later = self.diagnostics.split_off(said);
        let ptxas = self.ptxas();
        let ptxas = ptxas.map_err(|why| self.needs_ptxas(&first.source.name, &why))?;
        let sources: Vec<&PtxSource<'d>> = waiting.iter().map(|one| &one.source).collect();
        let assembled = ptxas.assemble(&sources, Product::Object);
        let mut ready = std::mem::take(&mut self.images).into_iter();
        let mut taken = 0;
        for (one, assembled) in waiting.iter().zip(assembled) {
            self.images.extend(ready.by_ref().take(one.place - taken));
            taken = one.place;
            let behind = later.split_off(one.said - said);
            self.diagnostics
                .append(std::mem::replace(&mut later, behind));
            said = one.said;
            self.say_printed(&assembled.printed);
            let (name, elapsed) = (&one.source.name, assembled.elapsed);
            if assembled.product.is_ok() {
                self.compilations.push(match one.source.is_file {
                    true => Compilation::of_file(name, elapsed),
                    false => Compilation::of_entry(name, elapsed),
                });
            }
            match assembled.product {
                Ok(_) if one.source.fate == Fate::LeftOut => {}
                Ok(object) => self.image(name, Cow::Owned(object))?,
                Err(problem) => {
                    self.diagnostics.push(problem);
                    return Err(Stop);
                }
            }
        }
        self.images.extend(ready);
        self.diagnostics.append(later);
        Ok(())
    }

    pub(super) fn ptxas(&self) -> Result<Ptxas<'a>, ToolError> {
        Ptxas::find(
            &self.wanted.assembler,
            self.processor.sm,
            self.wanted.behaviour,
            self.environment,
        )
    }
}
