//! Processors for which some inputs have code and others have none.

use std::collections::BTreeSet;

use super::{Image, Linked, Message};
use crate::arch::Sm;
use crate::codes::{self, Code};
use crate::cubin::{File, SymbolOther, SymbolType};
use crate::diagnostic::{Diagnostic, Severity, some_of};

impl Linked {
    /// The processors for which inputs with device code brought none, so that their images are empty.
    pub fn without_code(&self) -> Vec<Sm> {
        let lacking = self.lacking();
        lacking
            .filter(|image| self.says(image.sm, codes::NO_DEVICE_CODE))
            .map(|image| image.sm)
            .collect()
    }

    /// The processors whose images have no kernel, where others have one: the inputs with kernels brought no code for them.
    pub fn without_kernels(&self) -> Vec<Sm> {
        let lacking = self.lacking().filter(|image| !has_kernel(image));
        let lacking: Vec<Sm> = lacking.map(|image| image.sm).collect();
        let has_some = |image: &Image| !lacking.contains(&image.sm) && has_kernel(image);
        match !lacking.is_empty() && self.images.iter().any(has_some) {
            true => lacking,
            false => Vec::new(),
        }
    }

    /// Leaves out the images without kernels, and says so.
    pub(super) fn leave_out_without_kernels(&mut self) {
        let processors = self.without_kernels();
        if processors.is_empty() {
            return;
        }
        let is_left_out = |sm: Sm| processors.contains(&sm);
        self.images.retain(|image| !is_left_out(image.sm));
        let mut inputs = BTreeSet::new();
        self.messages.retain(|Message { sm, diagnostic }| {
            let is_about_it =
                diagnostic.code == codes::MISSING_ARCH_CODE && sm.is_some_and(is_left_out);
            if is_about_it {
                inputs.extend(diagnostic.input().map(str::to_owned));
            }
            !is_about_it
        });
        let text = format!(
            "nothing is linked for {}, which the inputs have no kernels for",
            Sm::list(&processors)
        );
        let inputs: Vec<String> = inputs.into_iter().collect();
        let have = if inputs.len() == 1 { "has" } else { "have" };
        let why = some_of(&inputs).map(|inputs| format!("{inputs} {have} code for others only"));
        let warning = Diagnostic {
            detail: why,
            ..Diagnostic::new(Severity::Warning, codes::PROCESSOR_LEFT_OUT, text)
        };
        self.add(None, warning);
    }

    /// The images that some input has brought no code for.
    fn lacking(&self) -> impl Iterator<Item = &Image> {
        let images = self.images.iter();
        images.filter(|image| self.says(image.sm, codes::MISSING_ARCH_CODE))
    }

    /// Whether a message with this code is about a processor.
    fn says(&self, sm: Sm, code: Code) -> bool {
        let mut messages = self.messages.iter();
        messages.any(|message| message.sm == Some(sm) && message.diagnostic.code == code)
    }
}

fn has_kernel(image: &Image) -> bool {
    File::parse(&image.data).is_ok_and(|file| {
        let mut symbols = file.symbols.iter();
        symbols
            .any(|symbol| symbol.kind == SymbolType::FUNC && symbol.other.has(SymbolOther::ENTRY))
    })
}
