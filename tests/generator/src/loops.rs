//! Kernels as people write them: loops, unrolled or not, over arrays in global and shared memory, with exits, sums in
//! memory and exchanges between threads. They show what blocks leave to each other, which kernels of random
//! instructions have few of.

use std::collections::BTreeSet;

use crate::build::Build;
use crate::feature::Feature;
use crate::program::{Item, Language, Piece, Unit};
use crate::target::Target;
use rustnvlink_tests::random::Random;

/// Kernels of a unit; to start the compiler takes longer than they do.
const KERNELS: usize = 4;

/// Keeps this source apart from the one of the program.
const SALT: u64 = 0x6c6f_6f70;

/// Loops within each other, and statements.
const DEEPEST_LOOP: usize = 3;
const DEEPEST: usize = 4;

const TYPES: [&str; 8] = [
    "double",
    "double",
    "float",
    "int",
    "long long",
    "unsigned",
    "float2",
    "double2",
];

/// Whether such kernels are all that programs may contain.
pub(crate) fn is_alone(allowed: &BTreeSet<Feature>) -> bool {
    let is_beside = |feature: &Feature| *feature == Feature::Base || feature.is_drawn_elsewhere();
    allowed.contains(&Feature::Loops) && allowed.iter().all(is_beside)
}

/// The unit of a seed.
pub(crate) fn unit(seed: u64, target: &Target) -> Unit {
    let mut random = Random::new(seed ^ SALT);
    let kernels = (0..KERNELS).map(|number| Writer::new(&mut random).kernel(number));
    Unit {
        name: "loops".to_owned(),
        language: Language::Cuda,
        target: target.clone(),
        head: String::new(),
        options: Vec::new(),
        build: Build::default(),
        items: kernels.collect(),
    }
}

struct Writer<'r> {
    random: &'r mut Random,
    /// The type of all that it computes, which may be a pair.
    kind: &'static str,
    /// How many variables there are to compute with.
    variables: usize,
    /// How many loops a statement is in.
    loops: usize,
}

impl<'r> Writer<'r> {
    fn new(random: &'r mut Random) -> Self {
        Self {
            kind: *random.pick(&TYPES),
            variables: random.within(2..=5),
            loops: 0,
            random,
        }
    }

    fn is_pair(&self) -> bool {
        self.kind.ends_with('2')
    }

    /// The type of one number.
    fn scalar(&self) -> &'static str {
        self.kind.trim_end_matches('2')
    }

    fn has_fractions(&self) -> bool {
        matches!(self.scalar(), "float" | "double")
    }

    fn kernel(mut self, number: usize) -> Item {
        let kind = self.kind;
        let mut head = format!(
            "__global__ void loops{number}(const {kind} *in, {kind} *out, int n, int m) {{\n\
             __shared__ {kind} tile[64];\nint t = threadIdx.x + blockIdx.x * blockDim.x;"
        );
        for variable in 0..self.variables {
            head.push_str(&format!("\n{kind} a{variable} = in[t + {variable}];"));
        }
        let mut pieces = Vec::new();
        if self.random.chance(40) {
            pieces.push("if (t >= n) return;".to_owned());
        }
        if self.random.chance(60) {
            pieces.push("tile[t & 63] = in[t]; __syncthreads();".to_owned());
        }
        for _ in 0..self.random.within(2..=6) {
            pieces.push(self.statement(0));
        }
        pieces.extend((0..self.variables).map(|variable| {
            let place = if variable == 0 { "t" } else { "t + n" };
            format!("out[{place}] = a{variable};")
        }));
        Item {
            feature: Feature::Loops,
            head,
            pieces: pieces
                .into_iter()
                .map(|text| Piece::new(Feature::Loops, text))
                .collect(),
            tail: "}".to_owned(),
        }
    }

    fn block(&mut self, depth: usize) -> String {
        let statements = (0..self.random.within(1..=3)).map(|_| self.statement(depth));
        statements.collect::<Vec<_>>().join("\n")
    }

    fn statement(&mut self, depth: usize) -> String {
        let choice = self.random.below(100);
        match choice {
            40..60 if depth < DEEPEST && self.loops < DEEPEST_LOOP => self.repeated(depth),
            60..75 if depth < DEEPEST => self.decided(depth),
            75..83 => format!("tile[({}) & 63] = {};", self.index(), self.variable()),
            83..90 => format!("out[({}) % n] = {};", self.index(), self.variable()),
            90..94 if depth == 0 => "__syncthreads();".to_owned(),
            94..97 if !self.is_pair() && self.scalar() != "long long" => {
                let place = *self.random.pick(&["0", "t", "m"]);
                format!("atomicAdd(&out[{place}], {});", self.value(1))
            }
            97..100 if depth == 0 => {
                let (value, bound) = (self.value(2), self.number());
                format!("if ({value} < {bound}) return;")
            }
            _ => self.assignment(),
        }
    }

    fn assignment(&mut self) -> String {
        let target = self.variable();
        let parts: &[&str] = if self.is_pair() { &[".x", ".y"] } else { &[""] };
        let parts = parts.iter().map(|part| {
            let operation = *self.random.pick(&["=", "+=", "+="]);
            format!("{target}{part} {operation} {};", self.value(0))
        });
        parts.collect::<Vec<_>>().join(" ")
    }

    fn repeated(&mut self, depth: usize) -> String {
        let own = self.loops;
        let unrolled = *self.random.pick(&[1, 2, 4, 8]);
        let first = *self.random.pick(&["0", "t", "1"]);
        let end = *self.random.pick(&["n", "m", "8", "16", "n - t"]);
        let step = *self.random.pick(&[1, 1, 2, 32]);
        self.loops += 1;
        let body = self.block(depth + 1);
        let left = match self.random.chance(25) {
            true => {
                let (value, bound) = (self.value(2), self.number());
                let way = *self.random.pick(&["break", "continue"]);
                format!("\nif ({value} < {bound}) {way};")
            }
            false => String::new(),
        };
        self.loops -= 1;
        format!(
            "#pragma unroll {unrolled}\n\
             for (int i{own} = {first}; i{own} < {end}; i{own} += {step}) {{\n{body}{left}\n}}"
        )
    }

    fn decided(&mut self, depth: usize) -> String {
        let value = match self.random.chance(50) {
            true => "t".to_owned(),
            false => self.value(2),
        };
        let comparison = *self.random.pick(&["<", ">", "==", "!="]);
        let bound = match self.random.chance(50) {
            true => "m".to_owned(),
            false => self.number(),
        };
        let then = self.block(depth + 1);
        let otherwise = match self.random.chance(40) {
            true => format!(" else {{\n{}\n}}", self.block(depth + 1)),
            false => String::new(),
        };
        format!("if ({value} {comparison} {bound}) {{\n{then}\n}}{otherwise}")
    }

    fn variable(&mut self) -> String {
        format!("a{}", self.random.below(self.variables))
    }

    /// One number of something that may be a pair.
    fn part_of(&mut self, whole: String) -> String {
        match self.is_pair() {
            true => whole + *self.random.pick(&[".x", ".y"]),
            false => whole,
        }
    }

    fn number(&mut self) -> String {
        let numbers: &[&str] = match self.has_fractions() {
            true => &["1", "2", "0.5", "3", "-1", "0.25"],
            false => &["1", "2", "3", "-7", "5"],
        };
        format!("({})({})", self.scalar(), self.random.pick(numbers))
    }

    /// A place in an array: that of the thread, or one that moves with a loop.
    fn index(&mut self) -> String {
        let start = match self.random.below(4) {
            0 | 1 => "t".to_owned(),
            2 => format!("t + {}", self.random.within(1..=8)),
            _ => format!("t * {}", self.random.within(2..=4)),
        };
        match self.loops {
            0 => start,
            loops if self.random.chance(60) => {
                let counter = self.random.below(loops);
                let times = *self.random.pick(&["", " * m", " * 2"]);
                format!("{start} + i{counter}{times}")
            }
            _ => start,
        }
    }

    fn value(&mut self, depth: usize) -> String {
        const DEEPEST_VALUE: usize = 2;
        let choice = match depth > DEEPEST_VALUE {
            true => 0,
            false => self.random.below(100),
        };
        match choice {
            30..45 => {
                let element = format!("in[({}) % n]", self.index());
                self.part_of(element)
            }
            45..60 => {
                let element = format!("tile[({}) & 63]", self.index());
                self.part_of(element)
            }
            60..85 => {
                let (left, right) = (self.value(depth + 1), self.value(depth + 1));
                format!("({left} {} {right})", self.random.pick(&["+", "-", "*"]))
            }
            85..90 => format!("({})({})", self.scalar(), self.number()),
            90..94 if self.has_fractions() => {
                let functions: &[&str] = match self.scalar() {
                    "float" => &["sqrtf", "__expf", "fabsf", "rsqrtf", "__sinf"],
                    _ => &["sqrt", "fabs", "exp"],
                };
                let function = *self.random.pick(functions);
                format!("{function}({})", self.value(depth + 1))
            }
            94..97 => {
                let [left, right] = [0, 1].map(|_| self.value(depth + 2));
                let [then, otherwise] = [0, 1].map(|_| self.value(depth + 1));
                format!("({left} > {right} ? {then} : {otherwise})")
            }
            97..100 => {
                let distance = 1 << self.random.below(5);
                format!(
                    "__shfl_xor_sync(~0u, {}, {distance})",
                    self.value(depth + 2)
                )
            }
            _ => {
                let variable = self.variable();
                self.part_of(variable)
            }
        }
    }
}
