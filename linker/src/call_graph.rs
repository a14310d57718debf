//! The call graph, condensed: every figure over it is computed once per
//! strongly connected component.
//!
//! A call through a pointer reaches every function whose address is taken
//! under the same signature. Each signature is a node of its own, so that the
//! edges stay as many as the call graph has records.

mod circles;

use std::ops::Index;

use rustc_hash::FxHashMap;

use crate::bits::ones;
use crate::id::{FunctionId, Id as _, IdVec, PrototypeId};
use crate::merge::Function;

pub(crate) use circles::Circles;

/// Functions and signatures, grouped into components.
#[derive(Debug)]
pub(crate) struct CallGraph {
    functions: usize,
    successors: Lists,
    /// Component of each node.
    component: Vec<u32>,
    /// Nodes of each component; callees come before their callers.
    components: Lists,
}

/// Lists of nodes, one behind the other.
#[derive(Debug, Default)]
struct Lists {
    nodes: Vec<u32>,
    ends: Vec<u32>,
}

impl Lists {
    /// Adds a list.
    fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        self.nodes.extend(list);
        self.ends.push(self.nodes.len() as u32);
    }

    /// How many lists there are.
    fn len(&self) -> usize {
        self.ends.len()
    }

    /// All lists in their order.
    fn iter(&self) -> impl DoubleEndedIterator<Item = &[u32]> + ExactSizeIterator {
        (0..self.len()).map(|index| &self[index])
    }
}

impl Index<usize> for Lists {
    type Output = [u32];

    fn index(&self, index: usize) -> &[u32] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.nodes[start as usize..self.ends[index] as usize]
    }
}

impl CallGraph {
    pub(crate) fn new(functions: &IdVec<FunctionId, Function<'_>>, prototypes: usize) -> Self {
        let hub = |prototype: PrototypeId| (functions.len() + prototype.index()) as u32;
        let mut successors = Lists::default();
        let mut takers: Vec<(usize, u32)> = Vec::new();
        for (id, function) in functions.enumerate() {
            let calls = function.calls.iter().map(|callee| callee.index() as u32);
            let indirect = function.indirect_calls().iter().copied().map(hub);
            successors.push(calls.chain(indirect));
            let taken = function.taken_as();
            takers.extend(taken.map(|prototype| (prototype.index(), id.index() as u32)));
        }
        takers.sort_unstable();
        let mut takers = takers.into_iter().peekable();
        for prototype in 0..prototypes {
            let own = std::iter::from_fn(|| takers.next_if(|taker| taker.0 == prototype));
            successors.push(own.map(|(_, function)| function));
        }
        let (component, components) = condense(&successors);
        Self {
            functions: functions.len(),
            successors,
            component,
            components,
        }
    }

    /// The function that a node stands for, if not for a signature.
    fn function(&self, node: u32) -> Option<FunctionId> {
        let index = node as usize;
        (index < self.functions).then(|| FunctionId::new(index))
    }

    /// The other components that a node leads to, one for each call.
    fn below(&self, node: u32) -> impl Iterator<Item = usize> {
        let own = self.component[node as usize];
        let next = self.successors[node as usize].iter();
        next.map(|&next| self.component[next as usize])
            .filter(move |&component| component != own)
            .map(|component| component as usize)
    }

    /// Whether calls among the functions of a component can go round: a stack bound does not exist.
    fn is_cyclic(&self, component: usize) -> bool {
        let nodes = &self.components[component];
        nodes.len() > 1 || self.successors[nodes[0] as usize].contains(&nodes[0])
    }

    /// For each function, `join` of `own` over itself and all it reaches.
    pub(crate) fn over_callees<T: Clone + Default>(
        &self,
        own: impl Fn(FunctionId) -> T,
        join: impl Fn(&mut T, &T),
    ) -> IdVec<FunctionId, T> {
        let mut sums: Vec<T> = Vec::with_capacity(self.components.len());
        for nodes in self.components.iter() {
            let mut sum = T::default();
            for &node in nodes {
                if let Some(function) = self.function(node) {
                    join(&mut sum, &own(function));
                }
                for below in self.below(node) {
                    join(&mut sum, &sums[below]);
                }
            }
            sums.push(sum);
        }
        self.by_function(|component| sums[component].clone())
    }

    /// For each function, `join` of `own` over itself and all that reach it.
    pub(crate) fn over_callers<T: Clone + Default>(
        &self,
        own: impl Fn(FunctionId) -> T,
        join: impl Fn(&mut T, &T),
    ) -> IdVec<FunctionId, T> {
        let mut sums: Vec<T> = vec![T::default(); self.components.len()];
        for (index, nodes) in self.components.iter().enumerate().rev() {
            let mut sum = std::mem::take(&mut sums[index]);
            for function in nodes.iter().filter_map(|&node| self.function(node)) {
                join(&mut sum, &own(function));
            }
            for below in nodes.iter().flat_map(|&node| self.below(node)) {
                join(&mut sums[below], &sum);
            }
            sums[index] = sum;
        }
        self.by_function(|component| sums[component].clone())
    }

    /// For each function, the deepest sum of `own` along a call path that
    /// starts there; `None` where calls can go round.
    pub(crate) fn deepest(
        &self,
        own: impl Fn(FunctionId) -> u64,
    ) -> IdVec<FunctionId, Option<u64>> {
        let mut depths: Vec<Option<u64>> = Vec::with_capacity(self.components.len());
        for (index, nodes) in self.components.iter().enumerate() {
            let mut depth = (!self.is_cyclic(index)).then_some(0);
            for below in nodes.iter().flat_map(|&node| self.below(node)) {
                depth = depth.zip(depths[below]).map(|(a, b): (u64, u64)| a.max(b));
            }
            if let Some(function) = self.function(nodes[0]) {
                depth = depth.map(|depth| depth.saturating_add(own(function)));
            }
            depths.push(depth);
        }
        self.by_function(|component| depths[component])
    }

    /// A function and all it reaches, each once.
    pub(crate) fn reached_from(&self, function: FunctionId) -> Vec<FunctionId> {
        self.reached_from_any(&[function])
    }

    /// Functions and all that any of them reaches, each once.
    pub(crate) fn reached_from_any(&self, functions: &[FunctionId]) -> Vec<FunctionId> {
        let mut seen = vec![false; self.successors.len()];
        let mut pending: Vec<usize> = functions.iter().map(|function| function.index()).collect();
        let mut reached = Vec::new();
        while let Some(node) = pending.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            if node < self.functions {
                reached.push(FunctionId::new(node));
            }
            pending.extend(self.successors[node].iter().map(|&next| next as usize));
        }
        reached
    }

    /// Lets `visit` see which of `targets` each of `from` reaches or is: the number of the one, and the others in their
    /// order.
    pub(crate) fn each_reached(
        &self,
        from: &[FunctionId],
        targets: &[FunctionId],
        mut visit: impl FnMut(usize, FunctionId),
    ) {
        if targets.is_empty() {
            return;
        }
        for (batch, functions) in from.chunks(Self::BATCH).enumerate() {
            let reaching = self.reaching(functions);
            for &target in targets {
                for bit in ones(reaching[target]) {
                    visit(batch * Self::BATCH + bit, target);
                }
            }
        }
    }

    /// How many functions [`CallGraph::reaching`] takes at once.
    pub(crate) const BATCH: usize = u64::BITS as usize;

    /// For each function, which of a batch of functions reach it or are it, as bits: one visit of the graph is enough for
    /// as many as a word has.
    pub(crate) fn reaching(&self, batch: &[FunctionId]) -> IdVec<FunctionId, u64> {
        let mut bits: FxHashMap<FunctionId, u64> = FxHashMap::default();
        for (bit, &function) in batch.iter().enumerate() {
            *bits.entry(function).or_default() |= 1 << bit;
        }
        let own = |function| bits.get(&function).copied().unwrap_or(0);
        self.over_callers(own, |sum, more| *sum |= more)
    }

    /// The circles of calls in the graph.
    pub(crate) fn circles(&self) -> Circles<'_> {
        Circles::new(self)
    }

    fn by_function<T>(&self, value: impl Fn(usize) -> T) -> IdVec<FunctionId, T> {
        let mut values = IdVec::new();
        for node in 0..self.functions {
            values.push(value(self.component[node] as usize));
        }
        values
    }
}

/// The component of each node, and the members of each component.
fn condense(successors: &Lists) -> (Vec<u32>, Lists) {
    let mut search = Search {
        successors,
        order: vec![UNSEEN; successors.len()],
        low: vec![0; successors.len()],
        component: vec![UNSEEN; successors.len()],
        components: Lists::default(),
        open: Vec::new(),
        path: Vec::new(),
        seen: 0,
    };
    for root in 0..successors.len() as u32 {
        if search.order[root as usize] == UNSEEN {
            search.start_at(root);
        }
    }
    (search.component, search.components)
}

const UNSEEN: u32 = u32::MAX;

/// Tarjan's search for strongly connected components, with an explicit stack: call chains
/// can be deeper than ours.
struct Search<'l> {
    successors: &'l Lists,
    /// How many nodes had been seen before each.
    order: Vec<u32>,
    /// The lowest such number of what is known to be in the component of each.
    low: Vec<u32>,
    component: Vec<u32>,
    components: Lists,
    /// Nodes that were seen and have no component yet.
    open: Vec<u32>,
    /// The way to the node at hand: nodes, and how many of their successors were looked at.
    path: Vec<(u32, usize)>,
    seen: u32,
}

impl Search<'_> {
    fn start_at(&mut self, root: u32) {
        self.path.push((root, 0));
        while let Some((node, edge)) = self.path.pop() {
            if edge == 0 {
                self.order[node as usize] = self.seen;
                self.low[node as usize] = self.seen;
                self.seen += 1;
                self.open.push(node);
            }
            match self.successors[node as usize].get(edge) {
                Some(&next) => {
                    self.path.push((node, edge + 1));
                    self.look_at(next, node);
                }
                None => self.leave(node),
            }
        }
    }

    /// Goes on with a successor of `node`, unless it was seen before.
    fn look_at(&mut self, next: u32, node: u32) {
        let (to, at) = (next as usize, node as usize);
        if self.order[to] == UNSEEN {
            self.path.push((next, 0));
        } else if self.component[to] == UNSEEN {
            self.low[at] = self.low[at].min(self.order[to]);
        }
    }

    /// Goes back from a node, all of whose successors were looked at.
    fn leave(&mut self, node: u32) {
        let at = node as usize;
        if self.low[at] == self.order[at] {
            let start = self.open.iter().rposition(|&member| member == node);
            let members = self.open.drain(start.unwrap_or(0)..).rev();
            let number = self.components.len() as u32;
            self.components
                .push(members.inspect(|&member| self.component[member as usize] = number));
        }
        if let Some(&(parent, _)) = self.path.last() {
            let parent = parent as usize;
            self.low[parent] = self.low[parent].min(self.low[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(u32, u32)], nodes: usize) -> CallGraph {
        let mut successors = Lists::default();
        for node in 0..nodes as u32 {
            let own = edges.iter().filter(|(from, _)| *from == node);
            successors.push(own.map(|&(_, to)| to));
        }
        let (component, components) = condense(&successors);
        CallGraph {
            functions: nodes,
            successors,
            component,
            components,
        }
    }

    #[test]
    fn depth_is_the_longest_path() {
        let depths = graph(&[(0, 1), (1, 2), (0, 2)], 3).deepest(|f| f.index() as u64 + 1);
        assert_eq!(
            depths.iter().copied().collect::<Vec<_>>(),
            [Some(6), Some(5), Some(3)]
        );
    }

    #[test]
    fn a_cycle_has_no_depth_nor_have_its_callers() {
        let depths = graph(&[(0, 1), (1, 2), (2, 1), (3, 3), (0, 4)], 5).deepest(|_| 1);
        assert_eq!(
            depths.iter().copied().collect::<Vec<_>>(),
            [None, None, None, None, Some(1)]
        );
    }

    #[test]
    fn circles_are_found_from_outside() {
        let graph = graph(&[(0, 1), (1, 2), (2, 3), (3, 1), (2, 2), (4, 0), (5, 5)], 6);
        let circle = |from| -> Vec<usize> {
            let mut circles = graph.circles();
            let circle = circles.from(FunctionId::new(from)).iter();
            circle.map(|function| function.index()).collect()
        };
        assert_eq!(circle(4), [1, 2, 3, 1]);
        assert_eq!(circle(2), [2, 2]);
        assert_eq!(circle(5), [5, 5]);
    }

    #[test]
    fn what_is_reached_is_seen_in_order_by_all() {
        // A chain with a circle in it, and a function beside it.
        let mut edges: Vec<(u32, u32)> = (0..199).map(|node| (node, node + 1)).collect();
        edges.push((150, 140));
        let graph = graph(&edges, 201);
        let from: Vec<FunctionId> = (0..201).map(FunctionId::new).collect();
        let targets = [7, 200, 145, 0, 199, 150].map(FunctionId::new);
        let mut seen = vec![Vec::new(); from.len()];
        graph.each_reached(&from, &targets, |index, target| seen[index].push(target));
        for (seen, &function) in seen.into_iter().zip(&from) {
            let reached = graph.reached_from(function);
            let mut expected = targets.to_vec();
            expected.retain(|target| reached.contains(target));
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn sums_reach_through_components() {
        let graph = graph(&[(0, 1), (1, 2), (2, 1), (2, 3), (4, 3)], 5);
        let join = |sum: &mut u32, own: &u32| *sum |= own;
        let below = graph.over_callees(|f| 1 << f.index(), join);
        assert_eq!(
            below.iter().copied().collect::<Vec<_>>(),
            [15, 14, 14, 8, 24]
        );
        let above = graph.over_callers(|f| 1 << f.index(), join);
        assert_eq!(above.iter().copied().collect::<Vec<_>>(), [1, 7, 7, 31, 16]);
    }
}
