//! The links of a request, one for each processor.

use std::collections::HashSet;

use super::{Image, Linked, Request};
use crate::arch::Sm;
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics, Filter, Severity};
use crate::finalize::EMPTY_DOT;
use crate::inputs::{
    self, Compilation, Environment, Files, Loaded, Module, Processor, Survey, Taken,
};
use crate::options::Behaviour;
use crate::report::Reports;
use crate::{Exit, Outcome, Product};

/// What is said where no processor is named, and the inputs name none to link for.
const ONLY_PTX: &str = "the inputs have PTX and no machine code; compile them for a processor, too (nvcc -gencode \
     arch=compute_90,code=sm_90; in CMake, 90 in CMAKE_CUDA_ARCHITECTURES instead of 90-virtual), or name one with --arch";
const NO_DEVICE_CODE: &str = "no input has device code; name the objects and static libraries that were compiled with -rdc=true \
     (what shared libraries hold is linked already), or a processor with --arch";
const NO_MACHINE_CODE: &str = "no input has machine code that can be linked; compile with -rdc=true (nvcc -dc, clang \
     -fgpu-rdc --no-offload-new-driver), or name a processor with --arch";

/// A request, and what its links read.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) request: &'a Request,
    pub(crate) files: &'a Files,
    pub(crate) environment: &'a Environment,
}

impl<'a> Job<'a> {
    /// Links for each of `targets`; without any, for all processors that the
    /// inputs have code for.
    pub(super) fn link_each(self, targets: &[Sm], messages: &Filter) -> Linked {
        let survey = self.files.survey();
        let mut linked = Linked {
            files: self.files.names(),
            host: survey.host,
            ..Linked::default()
        };
        let are_chosen = !targets.is_empty();
        let targets = match are_chosen {
            true => targets.to_vec(),
            false => self.targets_of(&survey),
        };
        if targets.is_empty() {
            self.explain_nothing(&survey, &mut linked);
            return linked;
        }
        // Twice the same image would be of no use.
        let mut seen = HashSet::new();
        let targets = targets.into_iter().filter(|sm| seen.insert(*sm));
        let (known, unknown): (Vec<Sm>, Vec<Sm>) = targets.partition(|sm| Sm::KNOWN.contains(sm));
        for &sm in &unknown {
            linked.add(None, Diagnostic::unknown_processor(sm));
        }
        let mut failed = !unknown.is_empty();
        let mut registered = HashSet::new();
        for sm in known {
            failed |= !self.link_into(&mut linked, &mut registered, sm, messages);
        }
        if failed {
            linked.images.clear();
        }
        if !are_chosen {
            linked.leave_out_without_kernels();
        }
        linked
    }

    /// The processors to link for where nobody has chosen any.
    fn targets_of(self, survey: &Survey) -> Vec<Sm> {
        let mut targets: Vec<Sm> = survey.processors.iter().copied().collect();
        if self.request.inputs.link_time.is_some() {
            targets.extend(&survey.intermediates);
            targets.sort();
        }
        targets
    }

    /// Links for one processor and adds what comes of it. Returns whether that is an image.
    fn link_into(
        self,
        linked: &mut Linked,
        registered: &mut HashSet<String>,
        sm: Sm,
        messages: &Filter,
    ) -> bool {
        let report = &mut |diagnostic| {
            let Some(diagnostic) = messages.wanted(diagnostic) else {
                return false;
            };
            let is_error = diagnostic.severity >= Severity::Error;
            linked.add(Some(sm), diagnostic);
            is_error
        };
        let one = self.link(&sm.into(), report, |product| product.into_bytes());
        for module in one.modules.unwrap_or_default() {
            // Code of other modules is linked like that of a library.
            if let Module::Named(name) = module
                && registered.insert(name.clone())
            {
                linked.modules.push(name);
            }
        }
        linked.uses_device_runtime |= one.uses_device_runtime;
        let image = one.output.map(|data| Image { sm, data });
        let is_there = image.is_some();
        linked.images.extend(image);
        is_there
    }

    /// Says why there is no processor to link for.
    fn explain_nothing(self, survey: &Survey, linked: &mut Linked) {
        // An input that cannot be read is the better explanation.
        let mut problems = Vec::new();
        let report = &mut |diagnostic: Diagnostic| {
            problems.push(diagnostic);
            // What is left out is of interest, too.
            false
        };
        let processor = Processor::from(Sm::KNOWN[0]);
        let (loaded, _) = self.load(&processor, report);
        // PTX may well be for a newer processor than this one.
        let is_about_ptx = |problem: &Diagnostic| {
            survey.has_ptx
                && (problem.code == codes::PTXAS_FAILED || problem.code == codes::MISSING_PTXAS)
        };
        if loaded.as_ref().err() == Some(&Exit::Fatal) && !problems.iter().any(is_about_ptx) {
            for problem in problems {
                linked.add(None, problem);
            }
            return;
        }
        // What was linked before may be why, or a file of another kind.
        let linked_before = problems
            .iter()
            .find(|problem| problem.code == codes::NO_DEVICE_CODE)
            .and_then(|problem| problem.detail.clone());
        problems.retain(|problem| problem.code == codes::IGNORED_INPUT);
        let hints = loaded.map_or_else(|_| Vec::new(), |loaded| loaded.hints);
        let is_closed = hints.iter().any(|hint| hint.code == codes::CLOSED_OBJECT);
        let has_none = problems.is_empty() && !is_closed;
        for problem in problems {
            linked.add(None, problem);
        }
        let (code, text) = match survey.intermediates.is_empty() {
            true if survey.has_ptx => (codes::NO_DEVICE_CODE, ONLY_PTX),
            true if linked_before.is_some() => {
                (codes::NO_DEVICE_CODE, "no input has device code to link")
            }
            true if has_none => (codes::NO_DEVICE_CODE, NO_DEVICE_CODE),
            true => (codes::NO_DEVICE_CODE, NO_MACHINE_CODE),
            false => (
                codes::LTO_INPUT,
                "the inputs have LTO-IR and no machine code; link them with -dlto",
            ),
        };
        let nothing = Diagnostic {
            detail: linked_before,
            ..Diagnostic::fatal(code, text)
        };
        linked.add(None, nothing);
    }

    /// Reads the inputs for one processor. `report` gets every message and returns whether it counts as an error. Returns
    /// the times of compilers, too.
    pub(crate) fn load(
        self,
        processor: &Processor,
        report: &mut dyn FnMut(Diagnostic) -> bool,
    ) -> (Result<Loaded<'a>, Exit>, Vec<Compilation>) {
        let inputs = &self.request.inputs;
        let Taken {
            loaded,
            diagnostics,
            compilations,
        } = inputs::load(self.files, inputs, processor, self.environment);
        let failed = report_all(&diagnostics, report);
        let loaded = match loaded {
            None if inputs.options_failed && !diagnostics.has_fatal() => Err(Exit::LinkError),
            None => Err(Exit::Fatal),
            Some(_) if failed => Err(Exit::LinkError),
            Some(loaded) => Ok(loaded),
        };
        (loaded, compilations)
    }

    /// Links for one processor. `take` gets the result before all messages are known, which may still make it useless.
    pub(crate) fn link<O>(
        self,
        processor: &Processor,
        report: &mut dyn FnMut(Diagnostic) -> bool,
        take: impl FnOnce(Product<'_>) -> O,
    ) -> One<O> {
        let (loaded, compilations) = self.load(processor, report);
        let one = match loaded {
            Err(exit) => One::ended(exit),
            Ok(mut loaded) => match loaded.finished.take() {
                Some(finished) => {
                    let output = take(Product::Optimized(finished));
                    self.without_link(loaded.modules, output)
                }
                None => self.link_loaded(loaded, processor, report, take),
            },
        };
        One {
            compilations,
            ..one
        }
    }

    /// The result where link-time optimization has left nothing to be linked.
    fn without_link<O>(self, modules: Vec<Module>, output: O) -> One<O> {
        let Request { inputs, settings } = self.request;
        let emits_ptx = inputs
            .link_time
            .as_ref()
            .is_some_and(|settings| settings.emit_ptx);
        let has_graph = settings.reports.call_graph && !emits_ptx;
        One {
            output: Some(output),
            modules: Some(modules),
            reports: Reports {
                call_graph: has_graph.then(|| EMPTY_DOT.to_owned()),
                ..Reports::default()
            },
            ..One::ended(Exit::Success)
        }
    }

    fn link_loaded<O>(
        self,
        mut loaded: Loaded<'_>,
        processor: &Processor,
        report: &mut dyn FnMut(Diagnostic) -> bool,
        take: impl FnOnce(Product<'_>) -> O,
    ) -> One<O> {
        let inputs = &self.request.inputs;
        let mut images = loaded.images.iter();
        let uses_device_runtime = images.any(inputs::Image::is_of_system_library);
        let options = self.request.options(processor, &loaded);
        let outcome = crate::link_objects(
            inputs::objects(&mut loaded.images, options.behaviour),
            &options,
            Diagnostics::default(),
            take,
        );
        let lacks_something = outcome.diagnostics.has(codes::UNDEFINED_REFERENCE);
        let explainer = loaded.explainer(inputs, processor, self.environment);
        let failed = report_all(&outcome.diagnostics, &mut |mut diagnostic| {
            diagnostic.is_settled |= loaded.forgets_options;
            let diagnostic = diagnostic.with_inputs_lacking(&loaded.lacking, &processor.name);
            report(explainer.explained(diagnostic))
        });
        let exit = match outcome.exit() {
            Exit::Success if failed => Exit::LinkError,
            exit => exit,
        };
        let Outcome { image, reports, .. } = outcome;
        if image.is_none() && lacks_something && inputs.behaviour == Behaviour::Own {
            for hint in loaded.hints {
                report(hint);
            }
        }
        One {
            output: image.filter(|_| exit == Exit::Success),
            modules: Some(loaded.modules),
            uses_device_runtime,
            reports,
            ..One::ended(exit)
        }
    }
}

/// The result of the link for one processor.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "program"),
    expect(dead_code, reason = "the command line tells more than the library")
)]
pub(crate) struct One<O> {
    pub(crate) exit: Exit,
    /// An image, or PTX where that was asked for.
    pub(crate) output: Option<O>,
    /// The modules of the inputs, if these could be read.
    pub(crate) modules: Option<Vec<Module>>,
    pub(crate) uses_device_runtime: bool,
    pub(crate) reports: Reports,
    /// What was compiled, in its order.
    pub(crate) compilations: Vec<Compilation>,
}

impl<O> One<O> {
    pub(crate) fn ended(exit: Exit) -> Self {
        Self {
            exit,
            output: None,
            modules: None,
            uses_device_runtime: false,
            reports: Reports::default(),
            compilations: Vec::new(),
        }
    }
}

/// Reports messages. Returns whether one of them counts as an error.
fn report_all(diagnostics: &Diagnostics, report: &mut dyn FnMut(Diagnostic) -> bool) -> bool {
    let mut failed = false;
    for message in diagnostics.messages() {
        failed |= report(message.clone());
    }
    failed
}
