//! What newer CUDA C++ has, and calls of the device runtime.

use crate::feature::Feature;
use crate::program::{Item, Piece};
use rustnvlink_tests::random::Random;

/// Definitions that several units hold, as headers bring them.
const SHARED: &[(Feature, &str)] = &[(
    Feature::Modern,
    "struct Node { int value; const Node *next; const char *name; };\n\
         [[noreturn]] inline __device__ __noinline__ void give_up(int x) { printf(\"%d\\n\", x); __trap(); while (true) {} }\n\
         template <class F> __global__ void apply(F f, int *p) { p[0] = f(p[1]); }\n\
         struct Base { int first; __device__ virtual int get(int n) { return n + first; } };\n\
         struct Left : virtual Base { __device__ int get(int n) override { return n * 2; } };\n\
         struct Right : virtual Base { int more; };\n\
         struct Both : Left, Right { __device__ int get(int n) override { return Left::get(n) + more; } };\n\
         template <int N> struct Series { __device__ __noinline__ static int at(int x) { constexpr int values[N] = {N, N * 2, 7}; return values[x & (N - 1)]; } };",
)];

/// Definitions of one unit; `@` stands for its number.
const OWN: &[(Feature, &str)] = &[
    (
        Feature::Modern,
        "__constant__ Node tails@[2] = {{3, nullptr, nullptr}, {4, nullptr, \"four\"}};\n\
         __constant__ Node nodes@[2] = {{1, tails@ + 1, \"one\"}, {2, tails@, \"two\"}};\n\
         __managed__ Node first@ = {5, nullptr, nullptr};\n\
         __device__ const Node *heads@[2] = {nodes@, tails@ + 1};\n\
         __device__ alignas(4096) int page@[700];\n\
         struct Huge { char bytes[9000]; };\n\
         __global__ void huge@(const __grid_constant__ Huge huge, int *p) { p[0] = huge.bytes[p[1] & 4095]; }",
    ),
    (
        Feature::Runtime,
        "__global__ void child@(int *p, Pair pair) { p[threadIdx.x] += pair.b; }\n\
         __global__ void __launch_bounds__(64) last@(int *p) { p[0] = @; }",
    ),
];

/// Statements; `@` stands for the number of the unit and `#` for that of the statement.
const STATEMENTS: &[(Feature, u32, &str)] = &[
    (
        Feature::Modern,
        75,
        "x += heads@[x & 1]->value + first@.value + nodes@[x & 1].next->value;",
    ),
    (Feature::Modern, 75, "if (x == 99) give_up(x);"),
    (
        Feature::Modern,
        75,
        "__int128 w# = (__int128)x * clock64(); w# /= x | 1; x += (int)(w# >> 66);",
    ),
    (
        Feature::Modern,
        100,
        "__float128 q# = x; q# = q# * q# + 1; x += (int)q#;",
    ),
    (
        Feature::Modern,
        75,
        "static const char *const words#[] = {\"zero\", \"one\", \"two\"}; x += words#[(unsigned)x % 3][1];",
    ),
    (
        Feature::Modern,
        75,
        "Both b#; b#.first = x; b#.more = 3; Base *g# = &b#; x += g#->get(x);",
    ),
    (
        Feature::Modern,
        75,
        "int (Base::*m#)(int) = &Base::get; Base o#; o#.first = x; x += (o#.*m#)(x);",
    ),
    (
        Feature::Modern,
        75,
        "x += Series<4>::at(x) + Series<8>::at(x);",
    ),
    (
        Feature::Modern,
        75,
        "extern __shared__ __align__(1024) char aligned[]; aligned[x & 63] = x; x += aligned[1];",
    ),
    (
        Feature::Modern,
        75,
        "page@[x & 511] = x; x += page@[x & 255];",
    ),
    (
        Feature::Modern,
        75,
        "for (int i# : {x, 7, 9 * x, 4}) x ^= i#;",
    ),
    (
        Feature::Modern,
        75,
        "auto f# = [=](auto self, int n) -> int { return n < 2 ? x : self(self, n - 1) + n; }; x += f#(f#, x & 7);",
    ),
    (
        Feature::Modern,
        75,
        "asm volatile(\"{ .reg .pred p; .global .align 4 .b32 in_text; setp.ne.u32 p, %0, 0; selp.b32 %0, 3, %0, p; atom.global.add.u32 %0, [in_text], %0; }\" : \"+r\"(x));",
    ),
    (
        Feature::Modern,
        75,
        "Node c# = nodes@[0]; memcpy(&c#, nodes@ + (x & 1), sizeof c#); x += c#.value;",
    ),
    (
        Feature::Modern,
        90,
        "cudaGridDependencySynchronize(); cudaTriggerProgrammaticLaunchCompletion();",
    ),
    (
        Feature::Runtime,
        75,
        "cudaStream_t s#; cudaStreamCreateWithFlags(&s#, cudaStreamNonBlocking); child@<<<1, 32, 64, s#>>>((int *)(size_t)x, Pair{x, 2}); cudaStreamDestroy(s#);",
    ),
    (
        Feature::Runtime,
        75,
        "last@<<<x & 7, 1, 0, cudaStreamTailLaunch>>>((int *)(size_t)x);",
    ),
    (
        Feature::Runtime,
        75,
        "last@<<<1, 1, 0, cudaStreamFireAndForget>>>((int *)(size_t)x); x += cudaPeekAtLastError();",
    ),
    (
        Feature::Runtime,
        75,
        "int d# = 0; cudaGetDevice(&d#); cudaDeviceGetAttribute(&d#, cudaDevAttrWarpSize, d#); x += d#;",
    ),
    (
        Feature::Runtime,
        75,
        "cudaMemsetAsync((void *)(size_t)x, 0, 16); cudaMemcpyAsync((void *)(size_t)x, (void *)(size_t)(x + 64), 32, cudaMemcpyDeviceToDevice);",
    ),
    (
        Feature::Runtime,
        75,
        "cudaFuncAttributes a#; cudaFuncGetAttributes(&a#, (const void *)child@); x += a#.numRegs;",
    ),
    (
        Feature::Runtime,
        75,
        "int o# = 0; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&o#, (const void *)last@, 64, 0); x += o#;",
    ),
    (
        Feature::Runtime,
        75,
        "void *m# = nullptr; cudaMalloc(&m#, x); *(int *)m# = x; cudaFree(m#);",
    ),
    (
        Feature::Runtime,
        75,
        "cudaEvent_t e#; cudaEventCreateWithFlags(&e#, cudaEventDisableTiming); cudaEventRecord(e#, 0); cudaEventDestroy(e#);",
    ),
    (
        Feature::Runtime,
        75,
        "x += cudaGetErrorString((cudaError_t)x)[0];",
    ),
];

/// Options of nvcc.
const OPTIONS: &[&str] = &[
    "-std=c++20",
    "-Xptxas=-O1",
    "-keep-device-functions",
    "-fmad=false",
];

/// The statements of a feature.
pub(crate) fn statement(
    random: &mut Random,
    feature: Feature,
    processor: u32,
    unit: usize,
    number: usize,
) -> Option<String> {
    let fitting: Vec<&str> = STATEMENTS
        .iter()
        .filter(|(of, from, _)| *of == feature && processor >= *from)
        .map(|(.., text)| *text)
        .collect();
    if fitting.is_empty() {
        return None;
    }
    let text = random.pick::<&str>(&fitting);
    Some(filled(text, unit, number))
}

fn filled(text: &str, unit: usize, number: usize) -> String {
    text.replace('@', &unit.to_string())
        .replace('#', &number.to_string())
}

/// The definitions of a unit for these features.
pub(crate) fn items(unit: usize, has: impl Fn(Feature) -> bool) -> Vec<Item> {
    let pair = has(Feature::Runtime)
        .then(|| Item::new(Feature::Runtime, "struct Pair { int a; int b; };"));
    let all = SHARED
        .iter()
        .chain(OWN)
        .filter(|(feature, _)| has(*feature));
    let all = all.map(|(feature, text)| Item::new(*feature, filled(text, unit, 0)));
    pair.into_iter().chain(all).collect()
}

/// An option for a unit, and what the host starts there.
pub(crate) fn options(random: &mut Random) -> Vec<Piece> {
    let mut options = vec![Piece::new(Feature::Modern, "--extended-lambda")];
    if random.chance(40) {
        options.push(Piece::new(Feature::Modern, *random.pick(OPTIONS)));
    }
    options
}

/// A host function that starts a kernel with a lambda.
pub(crate) fn start(unit: usize) -> Item {
    Item::new(
        Feature::Modern,
        filled(
            "void start@(int *p, int n) { apply<<<1, 32>>>([=] __device__ (int x) { return x * n + @; }, p); }",
            unit,
            0,
        ),
    )
}
