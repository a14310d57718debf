//! Device objects that are in memory already.

use super::check::{Candidate, Verdict, check, is_said_once};
use super::{Behaviour, Processor, Read};
use crate::Input;
use crate::arch::Sm;
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::options::Options;
use crate::parallel;
use crate::read::Object;

/// Reads those that can be part of a link, and says of others why they cannot.
pub(crate) fn read<'d>(
    inputs: &[Input<'d>],
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Vec<Read<'d>> {
    let processor = Processor::from(options.target);
    let behaviour = options.behaviour;
    if behaviour == Behaviour::Own && !Sm::KNOWN.contains(&options.target) {
        diagnostics.push(Diagnostic::unknown_processor(options.target));
        return Vec::new();
    }
    let bytes = inputs.iter().map(|input| input.data.len()).sum();
    let looks = parallel::map(inputs, bytes, |input: &Input<'d>| {
        let mut warnings = Vec::new();
        let candidate = Candidate::file(input.name, input.data);
        let read =
            check(candidate, &processor, behaviour, &mut warnings).map(|verdict| match verdict {
                Verdict::Link(file) | Verdict::LinkOlder(file) | Verdict::LinkAlone(file) => {
                    Ok(Object::new(input.name, file, options.behaviour))
                }
                Verdict::Skip(why) => Err(why),
            });
        (read, warnings)
    });
    let mut objects = Vec::with_capacity(looks.len());
    for (input, (read, warnings)) in inputs.iter().zip(looks) {
        for warning in warnings {
            if !is_said_once(warning.code) || !diagnostics.has(warning.code) {
                diagnostics.push(warning);
            }
        }
        match (read, behaviour) {
            (Ok(Ok(object)), _) => objects.push(object),
            (Ok(Err(_)), Behaviour::Nvlink) => {}
            // Who names objects one by one wants all of them.
            (Ok(Err(why)), Behaviour::Own) => {
                let text = format!("'{}' cannot be linked: {why}", input.name);
                let problem = Diagnostic::new(Severity::Error, codes::IGNORED_INPUT, text);
                diagnostics.push(problem.of_input(input.name));
            }
            (Err(problem), _) => diagnostics.push(problem),
        }
    }
    objects
}
