//! Calls that go round: why a stack has no bound.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::id::{FunctionId, Id as _};

use super::CallGraph;

/// The circles of calls in a graph, each looked for once.
#[derive(Debug)]
pub(crate) struct Circles<'g> {
    graph: &'g CallGraph,
    /// By which function a way from each node gets into a circle.
    entered: Vec<Option<u32>>,
    /// The circle of a component.
    found: FxHashMap<u32, Vec<FunctionId>>,
}

impl<'g> Circles<'g> {
    pub(super) fn new(graph: &'g CallGraph) -> Self {
        let mut entered = vec![None; graph.successors.len()];
        for (component, nodes) in graph.components.iter().enumerate() {
            // First all functions that are in a circle: what else is in it leads to them.
            if graph.is_cyclic(component) {
                let functions = nodes.iter().filter(|&&node| graph.function(node).is_some());
                functions.for_each(|&node| entered[node as usize] = Some(node));
            }
            for &node in nodes {
                if entered[node as usize].is_none() {
                    let mut next = graph.successors[node as usize].iter().rev();
                    entered[node as usize] = next.find_map(|&next| entered[next as usize]);
                }
            }
        }
        Self {
            graph,
            entered,
            found: FxHashMap::default(),
        }
    }

    /// Functions that call each other in a circle and that `function` reaches, the first one again at the end. Empty if
    /// there are none. All functions that get into one component are shown the same circle.
    pub(crate) fn from(&mut self, function: FunctionId) -> &[FunctionId] {
        let Some(start) = self.entered[function.index()] else {
            return &[];
        };
        let component = self.graph.component[start as usize];
        let found = self.found.entry(component);
        found.or_insert_with(|| self.graph.circle(start))
    }
}

impl CallGraph {
    /// The shortest way from a node to itself, which stays in its component. Empty if there is none.
    fn circle(&self, start: u32) -> Vec<FunctionId> {
        let component = self.component[start as usize];
        let mut before = FxHashMap::default();
        let mut pending = VecDeque::from([start]);
        while let Some(node) = pending.pop_front() {
            for &next in &self.successors[node as usize] {
                if self.component[next as usize] != component {
                    continue;
                }
                if next == start {
                    let mut circle = vec![next];
                    let mut at = node;
                    while at != start {
                        circle.push(at);
                        at = before[&at];
                    }
                    circle.push(next);
                    let in_order = circle.into_iter().rev();
                    return in_order.filter_map(|node| self.function(node)).collect();
                }
                before.entry(next).or_insert_with(|| {
                    pending.push_back(next);
                    node
                });
            }
        }
        Vec::new()
    }
}
