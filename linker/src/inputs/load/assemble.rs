//! PTX and LTO-IR wait until all files have been looked at; PTX becomes objects
//! first.

use std::borrow::Cow;

use cudalink_jitlink as jitlink;

use super::super::link_time::Intermediate;
use super::super::ptx::{Fate, Product, Ptxas, Source as PtxSource};
use super::{Loader, Stop};
use crate::diagnostic::Diagnostic;

impl<'a, 'd> Loader<'a, 'd> {
    /// Remembers PTX for the assembler, at its place among the objects.
    pub(super) fn ptx(
        &mut self,
        name: &str,
        text: Cow<'d, [u8]>,
        options: Vec<String>,
        fate: Fate,
    ) {
        self.waiting.push((
            self.images.len(),
            PtxSource {
                name: name.to_owned(),
                text,
                options,
                fate,
            },
        ));
    }

    /// Remembers LTO-IR for the optimizer.
    pub(super) fn intermediate(&mut self, name: &str, kind: jitlink::Kind, data: &'d [u8]) {
        self.intermediates.push(Intermediate {
            name: name.to_owned(),
            kind,
            data,
            // PTX becomes objects before LTO-IR does.
            place: self.images.len() + self.waiting.len(),
        });
    }

    /// Lets the assembler make objects of the PTX so far.
    pub(super) fn assemble(&mut self) -> Result<(), Stop> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let (places, sources): (Vec<usize>, Vec<PtxSource<'d>>) = waiting.into_iter().unzip();
        let ptxas = self.ptxas();
        let ptxas = ptxas.map_err(|why| self.needs_ptxas(&sources[0].name, &why))?;
        let assembled = ptxas.assemble(&sources, Product::Object);
        let mut ready = std::mem::take(&mut self.images).into_iter();
        let mut taken = 0;
        for ((place, source), assembled) in places.iter().zip(&sources).zip(assembled) {
            self.images.extend(ready.by_ref().take(place - taken));
            taken = *place;
            let printed = assembled.printed.trim_end();
            if !printed.is_empty() {
                self.diagnostics.push(Diagnostic::text(printed.to_owned()));
            }
            match assembled.product {
                Ok(_) if source.fate == Fate::LeftOut => {}
                Ok(object) => self.image(&source.name, Cow::Owned(object))?,
                Err(problem) => {
                    self.diagnostics.push(problem);
                    return Err(Stop);
                }
            }
        }
        self.images.extend(ready);
        Ok(())
    }

    pub(super) fn ptxas(&self) -> Result<Ptxas<'a>, String> {
        Ptxas::find(
            &self.wanted.assembler,
            self.processor.sm,
            self.wanted.behaviour,
            self.environment,
        )
    }
}
