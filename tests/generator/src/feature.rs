//! What a program may contain.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use rustnvlink_tests::random::Random;

macro_rules! features {
    ($($variant:ident $name:literal $weight:literal $about:literal,)*) => {
        /// Something a program may contain.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Feature {
            $(#[doc = $about] $variant,)*
        }

        impl Feature {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Whether it is no choice of the program as a whole.
            pub(crate) fn is_drawn_elsewhere(self) -> bool {
                self.weight() == 0
            }

            /// In how many of a hundred programs it may occur.
            fn weight(self) -> usize {
                match self { $(Self::$variant => $weight,)* }
            }
        }
    };
}

features! {
    Base "base" 100 "Entries, functions and arithmetic",
    Call "call" 85 "direct calls, also into other units",
    Recursion "recursion" 15 "calls that may come back to their caller",
    Indirect "indirect" 40 "calls through pointers taken in code",
    Table "table" 35 "calls through pointers kept in variables",
    Weak "weak" 35 "weak functions and variables, defined in several units",
    Static "static" 50 "functions and variables of one unit, with the same names in others",
    Shadow "shadow" 12 "a local name that is a global name elsewhere",
    Alias "alias" 6 "a second name of a function",
    NoReturn "no-return" 8 "functions that never return",
    EntryAddress "entry-address" 8 "addresses of entries",
    Unsized "unsized" 15 "declarations that leave size or alignment open",
    Global "global" 80 "variables in global memory",
    Pointer "pointer" 35 "addresses of variables in initial values",
    Byte "byte" 10 "single bytes of addresses in initial values",
    Common "common" 20 "variables that several units define without a value",
    Managed "managed" 12 "managed variables",
    Constant "constant" 50 "variables in constant memory",
    ModuleShared "module-shared" 40 "shared memory of a module",
    FunctionShared "function-shared" 40 "shared memory of a function",
    DynamicShared "dynamic-shared" 30 "shared memory of a size known at launch",
    Frame "frame" 40 "arrays on the stack",
    Alloca "alloca" 8 "stack memory of a size known late",
    Print "print" 20 "vprintf",
    Heap "heap" 12 "malloc and free",
    Assert "assert" 12 "__assertfail",
    Double "double" 30 "double precision with odd constants",
    JumpTable "jump-table" 25 "indirect branches",
    Barrier "barrier" 35 "named barriers",
    Bounds "bounds" 30 "launch bounds of entries",
    Cluster "cluster" 25 "thread block clusters",
    AsyncCopy "async-copy" 25 "asynchronous copies and their barriers",
    Atomic "atomic" 35 "atomics of several widths and scopes",
    Warp "warp" 35 "shuffles and votes",
    Matrix "matrix" 25 "matrix instructions",
    FastMath "fast-math" 30 "approximate functions",
    Special "special" 30 "special registers",
    Tensor "tensor" 40 "tcgen05 and wgmma, for architectures with a suffix",
    MatrixMemory "matrix-memory" 25 "matrices from and to memory",
    Vector "vector" 30 "several values in one load or store, and hints for caches",
    Order "order" 30 "loads, stores and atomics with an order and a scope",
    Transaction "transaction" 25 "barriers that count bytes, with bulk and tensor copies",
    Packed "packed" 25 "halves, bytes of floating point, and pairs of them",
    Integer "integer" 30 "integer instructions that few programs use",
    Ending "ending" 20 "the end of some threads, traps, clocks and sleep",
    Launch "launch" 12 "launches from device code",
    Texture "texture" 12 "texture and surface references",
    TextureObject "texture-object" 15 "texture and surface objects",
    Parameters "parameters" 30 "many and large parameters of entries",
    LineInfo "line-info" 25 "line tables",
    Debug "debug" 12 "debug information",
    Level "level" 30 "other levels of optimization",
    Registers "registers" 15 "limits of registers",
    Template "template" 60 "templates, in CUDA alone",
    Inline "inline" 50 "inline functions, in CUDA alone",
    Virtual "virtual" 30 "virtual functions, in CUDA alone",
    Lambda "lambda" 30 "lambdas, in CUDA alone",
    Cooperative "cooperative" 25 "cooperative groups, in CUDA alone",
    Mixed "mixed" 15 "units for other processors of the family, in PTX alone",
    Unused "unused" 12 "units and functions that nothing needs",
    Undefined "undefined" 2 "names that nothing defines",
    Duplicate "duplicate" 2 "names that are defined twice",
    Library "library" 0 "libcu++, CUB and what else the toolkit brings, in CUDA alone",
    Tuning "tuning" 0 "options of compilers that change code",
    Unified "unified" 8 "functions and variables that all images of a program know, from sm_90 on, in PTX alone",
    Sampler "sampler" 12 "textures, samplers and surfaces of all kinds, in PTX alone",
    Clash "clash" 6 "names that units define in ways that do not fit",
    Shape "shape" 10 "variables that are huge, aligned like pages, or vectors, in PTX alone",
    Wide "wide" 10 "parameters beyond what older drivers take, in PTX alone",
    Directive "directive" 10 "what directives say of code, calls and launches, in PTX alone",
    Rare "rare" 12 "functions with any number of arguments, names for others, entries in tables, stacks that are restored, in PTX alone",
    Inlined "inlined" 15 "line tables of several files and of inlined functions, in PTX alone",
    Recent "recent" 20 "instructions that few programs use yet, in PTX alone",
    Modern "modern" 15 "what newer C++ and newer compilers bring, in CUDA alone",
    Runtime "runtime" 10 "calls of the device runtime, in CUDA alone",
    Kernel "kernel" 0 "small kernels of random instructions, and where nothing else is allowed, one alone, in PTX",
    Loops "loops" 0 "kernels with loops over arrays, where nothing else is allowed, in CUDA alone",
    Older "older" 0 "units that older assemblers make, where there are any, in PTX alone",
    Whole "whole" 0 "units compiled as whole programs, in PTX alone",
    Source "source" 0 "units that linkers compile, in PTX alone",
    Intermediate "intermediate" 0 "units that the link compiles, in CUDA alone",
    Fatbin "fatbin" 0 "units in fatbins, also for other processors and with PTX",
    HostObject "host-object" 0 "units in host objects",
    Archive "archive" 0 "libraries of units",
}

/// What came later has a source of its own, so that programs without it stay what they are.
const LATER: &[Feature] = &[
    Feature::Unified,
    Feature::Sampler,
    Feature::Clash,
    Feature::Shape,
    Feature::Wide,
    Feature::Directive,
    Feature::Rare,
    Feature::Inlined,
    Feature::Recent,
    Feature::Modern,
    Feature::Runtime,
];

/// Keeps this source apart from the one of the program.
const SALT: u64 = 0x6c61_7465;

impl Feature {
    /// A set for one program. Leaving features out makes the rest meet more often.
    pub(crate) fn choose(
        seed: u64,
        random: &mut Random,
        allowed: &BTreeSet<Self>,
    ) -> BTreeSet<Self> {
        let mut later = Random::new(seed ^ SALT);
        let drawn = Self::ALL
            .iter()
            .copied()
            // What has no weight is drawn elsewhere.
            .filter(|feature| !feature.is_drawn_elsewhere())
            .filter(|feature| match LATER.contains(feature) {
                true => later.chance(feature.weight()),
                false => random.chance(feature.weight()),
            })
            .collect::<Vec<_>>();
        drawn
            .into_iter()
            .filter(|feature| allowed.contains(feature))
            .chain([Self::Base])
            .collect()
    }
}

impl FromStr for Feature {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|feature| feature.name() == text)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|feature| feature.name()).collect();
                format!("`{text}` is none of {}", names.join(", "))
            })
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
