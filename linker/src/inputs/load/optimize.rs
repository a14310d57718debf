//! LTO-IR takes part in a link as one object. Where it is the whole program,
//! nothing is left to be linked.

use std::cell::OnceCell;
use std::time::Instant;

use cudalink_jitlink::{Kind, Library};

use super::super::link_time::{
    self, Holder, Intermediate, LinkTime, OBJECT, Optimized, Optimizer, Scope,
};
use super::super::ptx::{Fate, Product, Source};
use super::super::recorded::{Agreed, agree};
use super::super::times::Compilation;
use super::super::{Behaviour, Environment, Image, Limits};
use super::archives::Deferred;
use super::names::Names;
use super::{Loader, Stop, is_of_system_library};
use crate::codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::report::unmatched_kernels;

/// LTO-IR, and what comes of it.
#[derive(Default)]
pub(super) struct Optimization<'d> {
    pub(super) intermediates: Vec<Intermediate<'d>>,
    /// What optimizes it, once there is some.
    library: OnceCell<Library>,
    /// How all of it is compiled, once it is known.
    pub(super) agreed: Agreed,
    /// The device runtime, where only optimized code can tell whether it is
    /// needed.
    pub(super) runtime: Option<Deferred<'d>>,
    /// Whether it was all code of the program but that of the device runtime.
    pub(super) scope: Scope,
    /// Whether the compiler made the image of all of it, with nothing left to link.
    pub(super) is_made_whole: bool,
    /// What was made, if that is the result.
    pub(super) finished: Option<Vec<u8>>,
}

impl<'d> Optimization<'d> {
    /// Nothing yet, which is to be compiled within these limits.
    pub(super) fn within(limits: Limits) -> Self {
        Self {
            agreed: Agreed::by(limits),
            scope: Scope::Part,
            ..Self::default()
        }
    }

    /// The library, which is looked for once, for an input of this name.
    fn library(
        &self,
        settings: &LinkTime,
        name: &str,
        environment: &Environment,
    ) -> Result<&Library, Diagnostic> {
        if let Some(library) = self.library.get() {
            return Ok(library);
        }
        let library = settings.library(name, environment)?;
        Ok(self.library.get_or_init(|| library))
    }

    /// How many objects come before what is made of all LTO-IR. nvlink keeps a
    /// place for it where a host object holds some, and not where a file of
    /// LTO-IR or a fatbin stands; without any it loses the code.
    fn place(&self, behaviour: Behaviour) -> Option<usize> {
        let keeps_place = |intermediate: &&Intermediate<'_>| {
            behaviour == Behaviour::Own || intermediate.holder == Holder::Object
        };
        let last = self.intermediates.iter().rfind(keeps_place);
        last.map(|intermediate| intermediate.place)
    }

    /// Whether the device runtime waits for optimized code. For nvlink, it has to
    /// stand behind all LTO-IR.
    fn runtime_waits(&self, behaviour: Behaviour) -> bool {
        let is_last = |deferred: &Deferred<'_>| deferred.behind == self.intermediates.len();
        match (&self.runtime, behaviour) {
            (Some(runtime), Behaviour::Nvlink) => is_last(runtime),
            (runtime, _) => runtime.is_some(),
        }
    }
}

impl<'d> Loader<'_, 'd> {
    /// Takes a file of LTO-IR.
    pub(super) fn intermediate_file(&mut self, name: &str, data: &'d [u8]) -> Result<(), Stop> {
        // No host code names its kernels; nvlink takes that for a sign that none
        // is launched.
        if !self.wanted.is_compatible() {
            self.host_use.add_unsaid();
        }
        self.intermediate(Intermediate {
            name: name.to_owned(),
            kind: Kind::LtoIr,
            data,
            record: None,
            place: self.place_of_next(),
            holder: Holder::File,
        })
    }

    /// Takes LTO-IR, if the optimizer knows it. What comes behind is not looked at where it does not.
    pub(super) fn intermediate(&mut self, intermediate: Intermediate<'d>) -> Result<(), Stop> {
        let Some(settings) = &self.wanted.link_time else {
            unreachable!("LTO-IR is only selected where it is optimized");
        };
        let refusal =
            match self
                .optimization
                .library(settings, &intermediate.name, self.environment)
            {
                Ok(library) => {
                    intermediate.refusal(library, self.processor.sm, self.wanted.behaviour)
                }
                Err(problem) => return Err(self.stop(problem)),
            };
        self.optimization.intermediates.push(intermediate);
        refusal.map_or(Ok(()), |problem| Err(self.stop(problem)))
    }

    /// Has all LTO-IR optimized and compiled.
    pub(super) fn optimize(&mut self) -> Result<(), Stop> {
        let Some(settings) = &self.wanted.link_time else {
            return Ok(());
        };
        let has_machine_code = !self.images.iter().all(Image::is_of_system_library);
        let scope = match has_machine_code {
            true => Scope::Part,
            false => settings.scope,
        };
        if self.optimization.intermediates.is_empty() {
            let text = "Ignoring -dlto option because no LTO objects found";
            self.warn(codes::NO_LTO_INPUT, text.to_owned())?;
            // nvlink notices that it was an error when it merges the first object.
            let is_merged = self.wanted.is_compatible() && !self.images.is_empty();
            if is_merged && self.diagnostics.has_errors() {
                return Err(self.stop(Diagnostic::merge_failed()));
            }
            return self.take_runtime();
        }
        self.agree(settings)?;
        let place = self.optimization.place(self.wanted.behaviour);
        let start = Instant::now();
        let optimized =
            self.compile_intermediates(settings, scope, &self.optimization.intermediates);
        let optimized = optimized.map_err(|problems| self.stop_with(problems))?;
        let compilation = Compilation::of_intermediates(start.elapsed());
        self.compilations.push(compilation);
        for said in optimized.said {
            self.diagnostics
                .push(Diagnostic::new(Severity::Info, codes::LTO_LOG, said));
        }
        if settings.emit_ptx {
            self.warn_of_unmatched(&optimized.ptx)?;
            self.optimization.finished = Some(optimized.ptx);
            return Ok(());
        }
        self.optimization.scope = scope;
        self.compile_optimized(optimized.ptx, scope, place)
    }

    /// Has the result of the optimizer compiled, and puts it to its place among the objects, if it has one, or takes it
    /// for the image.
    fn compile_optimized(
        &mut self,
        ptx: Vec<u8>,
        scope: Scope,
        place: Option<usize>,
    ) -> Result<(), Stop> {
        let is_known_whole = scope == Scope::Program
            && (place.is_none() || !link_time::needs_others(&ptx) && self.has_kernel(&ptx)?);
        // Without the library, nvlink takes it for granted that nothing is
        // missing, and then fails.
        let lacks_runtime = self.wanted.is_compatible()
            && scope == Scope::Program
            && place.is_some()
            && !self.has_runtime();
        let product = match is_known_whole || lacks_runtime {
            true => Product::Program,
            false => Product::Object,
        };
        if product == Product::Program {
            self.warn_of_unmatched(&ptx)?;
        }
        let made = self.compile(ptx, product)?;
        if lacks_runtime && !self.wanted.keep_system_libraries {
            let text = "expected libcudadevrt object";
            return Err(self.stop(Diagnostic::fatal(codes::NO_DEVICE_RUNTIME, text)));
        }
        if product == Product::Program {
            self.optimization.is_made_whole = true;
            self.optimization.finished = Some(made);
            return Ok(());
        }
        let object = Image {
            name: OBJECT.to_owned(),
            data: made.into(),
            is_alone: false,
            object: None,
        };
        if let Some(place) = place {
            self.images.insert(place, object);
            if let Some(runtime) = &mut self.optimization.runtime
                && place <= runtime.place
            {
                runtime.place += 1;
            }
        }
        self.take_runtime()
    }

    /// Says which texts of options are in the name of no kernel, where no link does.
    fn warn_of_unmatched(&mut self, ptx: &[u8]) -> Result<(), Stop> {
        if self.wanted.is_compatible() {
            return Ok(());
        }
        let (kernels, _) = self.filters();
        let ptx = String::from_utf8_lossy(ptx);
        unmatched_kernels(link_time::kernels(&ptx), &kernels)
            .into_iter()
            .try_for_each(|warning| self.warn_with(warning))
    }

    /// Whether the LTO-IR has a kernel, also one that went because nobody names
    /// it.
    fn has_kernel(&mut self, ptx: &[u8]) -> Result<bool, Stop> {
        let has_kernel = link_time::has_kernel(ptx);
        if has_kernel || self.host_use.options(&self.wanted.kernels).is_empty() {
            return Ok(has_kernel);
        }
        let Some(settings) = &self.wanted.link_time else {
            return Ok(false);
        };
        let whole =
            self.compile_intermediates(settings, Scope::Part, &self.optimization.intermediates);
        let whole = whole.map_err(|problems| self.stop_with(problems))?;
        Ok(link_time::has_kernel(&whole.ptx))
    }

    /// Says that an object is machine code where LTO-IR is wanted.
    pub(super) fn partial(&mut self, name: &str) {
        if self.wanted.link_time.is_none() || is_of_system_library(name) {
            return;
        }
        let text = format!("requested LTO but '{name}' not built for LTO so doing partial LTO");
        self.diagnostics
            .push(Diagnostic::new(Severity::Info, codes::PARTIAL_LTO, text));
    }

    /// Adds the names of LTO-IR, which has to be compiled for that.
    pub(super) fn add_optimized(
        &self,
        names: &mut Names,
        intermediates: &[Intermediate<'_>],
    ) -> Result<(), Vec<Diagnostic>> {
        if let Some(settings) = &self.wanted.link_time
            && !intermediates.is_empty()
        {
            let optimized = self.compile_intermediates(settings, Scope::Part, intermediates)?;
            names.add_ptx(&optimized.ptx);
        }
        Ok(())
    }

    fn compile_intermediates(
        &self,
        settings: &LinkTime,
        scope: Scope,
        intermediates: &[Intermediate<'_>],
    ) -> Result<Optimized, Vec<Diagnostic>> {
        let library = self
            .optimization
            .library(settings, &intermediates[0].name, self.environment);
        let library = library.map_err(|problem| vec![problem])?;
        let optimizer = Optimizer {
            settings,
            agreed: &self.optimization.agreed,
            processor: self.processor,
            environment: self.environment,
            behaviour: self.wanted.behaviour,
        };
        optimizer.optimize(library, &self.compiler_options(scope), intermediates)
    }

    /// Finds how all LTO-IR is to be compiled.
    fn agree(&mut self, settings: &LinkTime) -> Result<(), Stop> {
        let records: Vec<_> = self
            .optimization
            .intermediates
            .iter()
            .map(|one| one.record)
            .collect();
        let limits = self.wanted.assembler.limits;
        let mut notes = Vec::new();
        let agreed = agree(&records, limits, self.wanted.behaviour, &mut notes);
        self.diagnostics.extend(notes);
        self.optimization.agreed = agreed.map_err(|problem| self.stop(problem))?;
        let threads = self.optimization.agreed.limits.threads;
        if settings.threads.is_some() && threads.is_some_and(|count| count != 1) {
            let text = "Incompatible options '-split-compile' and '-split-compile-extended', \
                        using '-split-compile-extended'";
            self.diagnostics.push(Diagnostic::new(
                Severity::Info,
                codes::CONFLICTING_OPTIONS,
                text,
            ));
        }
        Ok(())
    }

    pub(super) fn stop_with(&mut self, problems: Vec<Diagnostic>) -> Stop {
        self.diagnostics.extend(problems);
        Stop
    }

    /// A file that is no LTO-IR, or not wanted.
    pub(super) fn no_intermediate(&mut self, name: &str) -> Stop {
        match self.wanted.link_time.is_some() && self.wanted.is_compatible() {
            true => self.fatal(codes::LTO_FAILED, name, "elfLink nvvm error"),
            false => self.fatal(
                codes::LTO_INPUT,
                name,
                "should only see nvvm files when -lto",
            ),
        }
    }

    /// Whether the device runtime is among the inputs.
    fn has_runtime(&self) -> bool {
        let waits = self.optimization.runtime_waits(self.wanted.behaviour);
        waits || self.images.iter().any(Image::is_of_system_library)
    }

    /// Links the device runtime, if it is known by now that it is needed.
    fn take_runtime(&mut self) -> Result<(), Stop> {
        let Some(runtime) = self.optimization.runtime.take() else {
            return Ok(());
        };
        if !self.needs_system_library() {
            return Ok(());
        }
        let behind = self.images.split_off(runtime.place);
        self.whole_archive(runtime.source)?;
        self.images.extend(behind);
        Ok(())
    }

    fn compile(&mut self, ptx: Vec<u8>, product: Product) -> Result<Vec<u8>, Stop> {
        let ptxas = self.ptxas().map_err(|why| {
            let text = "ptxas, which compiles PTX, is not there";
            Diagnostic::fatal(codes::MISSING_PTXAS, text).with_detail(why)
        });
        let ptxas = ptxas.map_err(|problem| self.stop(problem))?;
        let ptxas = ptxas.limited(self.optimization.agreed.limits);
        if self.wanted.is_compatible() {
            self.diagnostics.forget_options();
        }
        let source = Source {
            name: OBJECT.to_owned(),
            text: ptx.into(),
            options: Vec::new(),
            fate: Fate::Linked,
            is_file: false,
        };
        let assembled = ptxas.assemble_one(&source, product);
        let compilation = Compilation::of_optimized(assembled.elapsed);
        self.compilations.push(compilation);
        self.say_printed(&assembled.printed);
        assembled.product.map_err(|problem| self.stop(problem))
    }

    /// What nvlink tells the compiler of the program around the LTO-IR. Where
    /// other code may be missing, the compiler makes less of what it knows.
    fn compiler_options(&self, scope: Scope) -> Vec<String> {
        let mut options = Vec::new();
        // nvlink asks for it where the result has a place in a link.
        let is_linked =
            self.has_runtime() && self.optimization.place(self.wanted.behaviour).is_some();
        if scope == Scope::Part || is_linked {
            options.push("--device-c".to_owned());
        }
        match scope {
            Scope::Part => options.push("--force-device-c".to_owned()),
            Scope::Program => options.extend(self.host_use.options(&self.wanted.kernels)),
        }
        options
    }
}
