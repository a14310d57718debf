//! Which kernels see what a function uses, because they reach the function.

use crate::bits::Bits;
use crate::id::{FunctionId, IdVec};
use crate::prune::Pruned;

/// Which kernels reach a function.
pub(super) struct Visibility {
    reaching: IdVec<FunctionId, Bits>,
    is_entry: IdVec<FunctionId, Option<usize>>,
}

impl Visibility {
    pub(super) fn new(pruned: &Pruned<'_>, kernels: &[FunctionId]) -> Self {
        Self::with_owners(pruned, kernels, &[])
    }

    /// The same with kernels, the `owners`, that see what their own code uses but not what functions use that they reach. So
    /// it is also with those of `kernels` that stay although no host code names them (case `removed_kernels`).
    pub(super) fn with_owners(
        pruned: &Pruned<'_>,
        kernels: &[FunctionId],
        owners: &[FunctionId],
    ) -> Self {
        let live = &pruned.live;
        let is_owner = |function: FunctionId| {
            let is_entry = pruned.merged.functions[function].is_entry;
            is_entry && live.functions[function] && !live.entries[function]
        };
        let mut is_entry = IdVec::filled(&pruned.merged.functions, None);
        for (index, &kernel) in kernels.iter().chain(owners).enumerate() {
            is_entry[kernel] = Some(index);
        }
        let reaching = pruned.graph.over_callers(
            |function| {
                let kernel = is_entry[function].filter(|&index| index < kernels.len());
                let kernel = kernel.filter(|_| !is_owner(function));
                kernel.map_or_else(Bits::default, Bits::one)
            },
            Bits::join,
        );
        Self { reaching, is_entry }
    }

    /// The kernels that see what `functions` use. A kernel's own use counts
    /// for that kernel alone.
    pub(super) fn kernels(&self, functions: &[FunctionId]) -> Bits {
        let mut seers = Bits::default();
        for &function in functions {
            match self.is_entry[function] {
                Some(kernel) => seers.insert(kernel),
                None => seers.join(&self.reaching[function]),
            }
        }
        seers
    }
}
