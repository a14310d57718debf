//! The call graph sections of the inputs become edges between functions.

use crate::cubin::{CallGraph, Edge, Prototype, Signature};
use crate::diagnostic::Mismatch;
use crate::error::{NvlinkError, ParseError};
use crate::id::{FunctionId, PrototypeId};
use crate::options::Behaviour;
use crate::read::InputSection;

use super::current::Current;
use super::merger::Merger;

impl<'d> Merger<'d, '_> {
    /// Adds the edges of an input's `.nv.callgraph` to the functions.
    pub(super) fn merge_call_graph(
        &mut self,
        current: &mut Current<'_, 'd>,
        section: &InputSection<'d>,
    ) -> Result<(), ParseError> {
        let graph = match self.behaviour {
            Behaviour::Nvlink => CallGraph::parse_as_nvlink(section.data),
            Behaviour::Own => CallGraph::parse(section.data)?,
        };
        for edge in graph.calls {
            if !is_discarded(current, edge.from) {
                self.add_call(current, edge)?;
            }
        }
        for taken in graph.address_taken {
            // For nvlink it does not count either that data holds its address; that
            // code does, counts (case `weak_address_taken`).
            if self.behaviour == Behaviour::Own || !is_discarded(current, taken.function) {
                self.take_address(current, taken)?;
            }
        }
        for call in graph.indirect_calls {
            if !is_discarded(current, call.function) {
                let function = self.function(current, call.function)?;
                let prototype = self.signature(current, call.prototype)?;
                let pointers = &mut self.merged.functions[function].pointers;
                pointers.get_or_insert_default().calls.push(prototype);
            }
        }
        for edge in graph.address_references {
            if !is_discarded(current, edge.from) {
                self.add_reference(current, edge)?;
            }
        }
        Ok(())
    }

    /// Whether the graph lists each edge as often as inputs and definitions that lost do, as in programs; relocatable
    /// objects list it once (cases `call_graph_marks` and `weak_calls`).
    fn repeats_edges(&self) -> bool {
        self.merged.is_executable()
    }

    fn add_call(&mut self, current: &Current<'_, 'd>, edge: Edge) -> Result<(), ParseError> {
        let caller = self.function(current, edge.from);
        let callee = self.function(current, edge.to);
        // Of names that clash, nvlink looks for the signature alone (case `clashes`).
        let (caller, callee) = match (caller, callee) {
            (Ok(caller), Ok(callee)) => (caller, callee),
            _ if self.diagnostics.has_errors() => return Ok(()),
            (caller, callee) => (caller?, callee?),
        };
        if self.repeats_edges() || self.edges.calls.insert((caller, callee)) {
            self.merged.functions[caller].calls.push(callee);
        }
        Ok(())
    }

    fn take_address(
        &mut self,
        current: &mut Current<'_, 'd>,
        taken: Signature,
    ) -> Result<(), ParseError> {
        let function = self.function(current, taken.function)?;
        let prototype = self.signature(current, taken.prototype)?;
        let row = &mut self.merged.functions[function];
        row.is_taken = true;
        // What the last file says counts (case `address_taken_signatures`).
        row.prototype = Some(prototype);
        Ok(())
    }

    fn add_reference(&mut self, current: &Current<'_, 'd>, edge: Edge) -> Result<(), ParseError> {
        let function = self.function(current, edge.from)?;
        let target = self.function(current, edge.to)?;
        if self.repeats_edges() || self.edges.references.insert((function, target)) {
            let pointers = &mut self.merged.functions[function].pointers;
            pointers.get_or_insert_default().references.push(target);
        }
        // No list needs to say so besides (case `address_taken_signatures`).
        self.merged.functions[target].is_taken = true;
        Ok(())
    }

    pub(super) fn merge_prototypes(
        &mut self,
        current: &mut Current<'_, 'd>,
        section: &InputSection<'d>,
    ) -> Result<(), ParseError> {
        for entry in Prototype::parse_all(section.data)? {
            let function = self.function(current, entry.function)?;
            let prototype = self.signature(current, entry.text)?;
            let row = &mut self.merged.functions[function];
            let known = row.prototype.replace(prototype);
            let symbol = row.symbol;
            let types = |prototype| types_of(self.merged.prototypes[prototype]);
            if known.is_some_and(|known| types(known) != types(prototype)) {
                let named = self.known(current.object.symbol(entry.function)?);
                self.report_mismatch(Mismatch::Prototype, current, named.unwrap_or(symbol));
            }
        }
        Ok(())
    }

    /// The signature at `offset` among the strings of the input. Those that follow each
    /// other are often the same.
    fn signature(
        &mut self,
        current: &mut Current<'_, 'd>,
        offset: u32,
    ) -> Result<PrototypeId, ParseError> {
        if let Some((known, prototype)) = current.signature
            && known == offset
        {
            return Ok(prototype);
        }
        let prototype = self.prototype(current.object.signature(offset)?);
        current.signature = Some((offset, prototype));
        Ok(prototype)
    }

    fn function(&self, current: &Current<'_, 'd>, index: u32) -> Result<FunctionId, ParseError> {
        let symbol = current.object.symbol(index)?;
        current.symbols[index as usize]
            .and_then(|id| self.merged.symbols[id].function)
            .or_else(|| self.mistaken_function(symbol))
            .ok_or_else(|| {
                ParseError::malformed(format!(
                    "symbol {index} ({}) is not a function",
                    symbol.name
                ))
                .as_nvlink(NvlinkError::NoCallGraphNode)
            })
    }
}

/// Whether it is a weak function that another input defines, which calls what that one
/// calls.
fn is_discarded(current: &Current<'_, '_>, function: u32) -> bool {
    let symbol = current.object.symbols.get(function as usize);
    symbol.is_some_and(|symbol| current.is_discarded(symbol.place))
}

/// The types in a signature. Compilers since CUDA 12.8 say behind a bar how some
/// functions are called, which nvlink does not compare (case
/// `prototype_conventions`).
fn types_of(signature: &str) -> &str {
    signature
        .split_once('|')
        .map_or(signature, |(types, _)| types)
}
