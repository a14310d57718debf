//! Writes programs in CUDA C++: what the compiler makes of templates, inline functions and classes.

use std::collections::BTreeSet;

use crate::build::Build;
use crate::feature::Feature;
use crate::library;
use crate::modern;
use crate::program::{Item, Language, Piece, Program, Unit};
use crate::target::Target;
use rustnvlink_tests::random::Random;

/// What each unit may need; what it does not use leaves nothing behind.
const HEAD: &str = "\
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_pipeline.h>
";

/// What takes its time, for units that use it.
const PACKED_HEAD: &str = "\
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
";

/// Definitions that several units hold, as headers bring them.
const SHARED: &[(Feature, &str)] = &[
    (
        Feature::Template,
        "template <class T> __device__ __noinline__ T twice(T x) { return x + x * x; }",
    ),
    (
        Feature::Template,
        "template <int N> __device__ __noinline__ int tile(int x) { __shared__ int cells[N]; cells[x & 7] = x; __syncthreads(); return cells[x & 3]; }",
    ),
    (
        Feature::Template,
        "template <class T> __global__ void generic(T *p) { __shared__ T buffer[16]; buffer[threadIdx.x & 15] = p[1]; __syncthreads(); p[0] = buffer[3]; }",
    ),
    (
        Feature::Inline,
        "inline __device__ __noinline__ int clamp(int x) { static __device__ int calls; return atomicAdd(&calls, 1) < x ? x : 7; }",
    ),
    (
        Feature::Template,
        "template <class T> __device__ T hits = T(3);\n\
         template <class T> __constant__ T limits[3] = {T(7), T(9)};\n\
         template <int N> __device__ int powers[4] = {1, N, N * N, N * N * N};",
    ),
    (
        Feature::Inline,
        "inline __device__ int inline_total = 4;\ninline __constant__ double inline_scale[2] = {0.3, 1.7};",
    ),
    (
        Feature::Inline,
        "struct Point { int x, y; __device__ __noinline__ int norm() const { return x * x + y * y; } };",
    ),
    (
        Feature::Inline,
        "inline __device__ int folded(int n) {\n    int all = n;\n    for (int i = 0; i < (n & 15); ++i) {\n        int one = i * n;\n        if (one > 9) { int more = one + all; all ^= more; }\n        all += one;\n    }\n    return all;\n}",
    ),
    (
        Feature::Virtual,
        "struct Shape { int size; __device__ virtual int area(int n) { return n * size; } __device__ virtual int sides() { return 4; } };\n\
         struct Circle : Shape { __device__ int area(int n) override { return n * size * 3; } };",
    ),
    (
        Feature::Virtual,
        "struct Named { const char *name = \"named\"; __device__ virtual int length() { return name[0]; } };\n\
         struct Ring : Circle, Named { __device__ int sides() override { return 0; } __device__ int length() override { return size; } };\n\
         struct Disc final : Ring { __device__ int area(int n) override { return Ring::area(n) + n; } };",
    ),
    (
        Feature::Recursion,
        "inline __device__ __noinline__ int walk(int x, int (*next)(int)) { return x > 2 ? next(x - 1) + walk(x / 2, next) : 1; }",
    ),
    (
        Feature::Static,
        "namespace {\n__device__ int hidden = 2;\n__device__ __noinline__ int hide(int x) { return x * hidden++; }\n\
         template <class T> __global__ void hidden_kernel(T *p) { p[0] = (T)hide((int)p[1]); }\n}",
    ),
    (
        Feature::Inline,
        "struct Config { int width, scale; constexpr __host__ __device__ Config(int n = 0) : width(n * 3), scale(n + 1) {} };\n\
         inline __device__ Config config{4};\ninline __constant__ Config fixed_config[2] = {Config(5), Config(6)};",
    ),
    (
        Feature::Packed,
        "template <class T> __device__ __noinline__ T blend(T a, T b) { return a * b + a; }",
    ),
    (
        Feature::Parameters,
        "struct Large { int values[40]; double scale; const int *more; };",
    ),
    (
        Feature::Static,
        "static __device__ int state = 5;\nstatic __constant__ int numbers[4] = {1, 2, 3, 4};\n\
         static __device__ __noinline__ int local_step(int x) { return x + state + numbers[x & 3]; }",
    ),
];

/// Makes a program that may contain these features.
pub(crate) fn program(
    random: &mut Random,
    target: &Target,
    features: &BTreeSet<Feature>,
) -> Program {
    let units = random.within(1..=3);
    let homes: Vec<usize> = (0..random.within(1..=6))
        .map(|_| random.below(units))
        .collect();
    let mut program = Program {
        target: target.clone(),
        units: (0..units)
            .map(|unit| Writer::new(random, target, features, &homes, unit).write())
            .collect(),
        index: Vec::new(),
        steps: None,
    };
    random.shuffle(&mut program.units);
    program
}

struct Writer<'a> {
    random: &'a mut Random,
    target: &'a Target,
    features: &'a BTreeSet<Feature>,
    /// The unit of each function.
    homes: &'a [usize],
    unit: usize,
    variables: usize,
}

impl<'a> Writer<'a> {
    fn new(
        random: &'a mut Random,
        target: &'a Target,
        features: &'a BTreeSet<Feature>,
        homes: &'a [usize],
        unit: usize,
    ) -> Self {
        Self {
            random,
            target,
            features,
            homes,
            unit,
            variables: 0,
        }
    }

    fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    fn write(mut self) -> Unit {
        let options = self.options();
        let mut items: Vec<Item> = SHARED
            .iter()
            .filter(|(feature, _)| self.has(*feature))
            .map(|(feature, text)| Item::new(*feature, *text))
            .collect();
        for function in 0..self.homes.len() {
            let text = format!("extern __device__ int f{function}(int x);");
            items.push(Item::new(Feature::Base, text));
        }
        items.extend(modern::items(self.unit, |feature| self.has(feature)));
        items.extend(self.variables());
        for function in 0..self.homes.len() {
            if self.homes[function] == self.unit {
                items.push(Item {
                    feature: Feature::Base,
                    head: format!("__device__ __noinline__ int f{function}(int x) {{"),
                    pieces: self.body(Some(function)),
                    tail: "    return x;\n}".to_owned(),
                });
            }
        }
        for kernel in 0..self.random.within(0..=2) {
            let (feature, bounds) = self.bounds();
            let name = format!("k{}_{kernel}", self.unit);
            let large = match self.has(Feature::Parameters) && self.random.chance(40) {
                true => ", const __grid_constant__ Large large",
                false => "",
            };
            let first = match large {
                "" => "",
                _ => "    x += large.values[x & 31] + large.more[2];\n",
            };
            items.push(Item {
                feature,
                head: format!(
                    "__global__ void {bounds}{name}(int *p, long n{large}) {{\n    int x = p[threadIdx.x] + n;\n{first}"
                ),
                pieces: self.body(None),
                tail: "    p[0] = x;\n}".to_owned(),
            });
        }
        if self.has(Feature::Template) && self.random.chance(60) {
            let kind = *self.random.pick(&["int", "float", "double"]);
            let text = format!("template __global__ void generic<{kind}>({kind} *);");
            items.push(Item::new(Feature::Template, text));
        }
        if self.has(Feature::Static) && self.random.chance(40) {
            let text = format!(
                "void launch{}(int *p) {{ hidden_kernel<<<1, 1>>>(p); }}",
                self.unit
            );
            items.push(Item::new(Feature::Static, text));
        }
        if self.has(Feature::Modern) && self.random.chance(40) {
            items.push(modern::start(self.unit));
        }
        Unit {
            name: format!("u{}", self.unit),
            language: Language::Cuda,
            target: self.target.clone(),
            head: [
                Some(HEAD),
                self.has(Feature::Packed).then_some(PACKED_HEAD),
                self.has(Feature::Library).then_some(library::HEAD),
            ]
            .into_iter()
            .flatten()
            .collect(),
            options,
            build: Build::default(),
            items,
        }
    }

    fn bounds(&mut self) -> (Feature, &'static str) {
        if self.has(Feature::Bounds) && self.random.chance(40) {
            let bounds: [&str; _] = [
                "__launch_bounds__(128) ",
                "__launch_bounds__(256, 2) ",
                "__maxnreg__(64) ",
            ];
            return (Feature::Bounds, *self.random.pick(&bounds));
        }
        if self.has(Feature::Cluster) && self.target.number >= 90 && self.random.chance(50) {
            let bounds: [&str; _] = [
                "__cluster_dims__(2, 1, 1) ",
                "__launch_bounds__(128, 1, 4) ",
            ];
            return (Feature::Cluster, *self.random.pick(&bounds));
        }
        (Feature::Base, "")
    }

    fn options(&mut self) -> Vec<Piece> {
        let mut options = Vec::new();
        if self.has(Feature::Debug) && self.random.chance(70) {
            options.push(Piece::new(Feature::Debug, "-G"));
        } else if self.has(Feature::LineInfo) && self.random.chance(70) {
            options.push(Piece::new(Feature::LineInfo, "-lineinfo"));
        }
        if self.has(Feature::Registers) && self.random.chance(50) {
            options.push(Piece::new(Feature::Registers, "-maxrregcount=64"));
        }
        if self.has(Feature::Modern) {
            options.extend(modern::options(self.random));
        }
        options
    }

    /// Names that all units share, and that some define in one way or another.
    fn clashing(&mut self) -> String {
        if !self.has(Feature::Clash) {
            return String::new();
        }
        let value = self.random.below(3);
        let definition = match self.random.below(6) {
            0 => format!("extern \"C\" __device__ int clashing_v = {value};"),
            1 => format!("extern \"C\" __attribute__((weak)) __device__ int clashing_v = {value};"),
            2 => format!(
                "extern \"C\" __attribute__((weak)) __device__ __noinline__ int clashing_f(int x) {{ return x * {value}; }}"
            ),
            3 => format!(
                "extern \"C\" __device__ __noinline__ int clashing_f(int x) {{ return clashing_v++ * {value}; }}"
            ),
            _ => String::new(),
        };
        format!(
            "extern \"C\" {{ extern __device__ int clashing_v; extern __device__ int clashing_f(int x); }}\n{definition}"
        )
    }

    fn variables(&mut self) -> Vec<Item> {
        let unit = self.unit;
        let other = self.random.below(self.homes.len());
        let all = [
            (
                Feature::Global,
                format!("__device__ int total{unit} = 3;\n__device__ float samples{unit}[20];"),
            ),
            (
                Feature::Constant,
                format!("__constant__ double weights{unit}[3] = {{1.5, 2.5, 3.5}};"),
            ),
            (
                Feature::Managed,
                format!("__managed__ int shared_count{unit} = 9;"),
            ),
            (
                Feature::Table,
                format!(
                    "__device__ int (*action{unit})(int) = f{other};\n\
                     static __device__ int inputs{unit}[3] = {{1, 2}};\n\
                     struct Entry{unit} {{ int (*action)(int); const int *input; const char *name; }};\n\
                     __device__ Entry{unit} entries{unit}[3] = {{{{f0, inputs{unit}, \"first\"}}, {{f{other}, inputs{unit} + 1, nullptr}}}};\n\
                     __constant__ int (*const handlers{unit}[3])(int) = {{f{other}, f0, f{other}}};"
                ),
            ),
            (
                Feature::Weak,
                format!(
                    "__attribute__((weak)) __device__ __noinline__ int optional(int x) {{ return (int)(x * {}.{}); }}\n\
                     __attribute__((weak)) __device__ int fallback[2] = {{{unit}, 8}};",
                    unit + 1,
                    3 * unit + 1
                ),
            ),
            (Feature::Clash, self.clashing()),
            (
                Feature::Launch,
                format!("__global__ void launched{unit}(int *p) {{ p[threadIdx.x] += {unit}; }}"),
            ),
            (
                Feature::ModuleShared,
                format!("__shared__ int lane{unit}[33];"),
            ),
        ];
        all.into_iter()
            .filter(|(feature, _)| self.features.contains(feature))
            .map(|(feature, text)| Item::new(feature, text))
            .collect()
    }

    fn body(&mut self, function: Option<usize>) -> Vec<Piece> {
        let count = self.random.within(0..=6);
        (0..count)
            .filter_map(|_| self.statement(function))
            .collect()
    }

    fn statement(&mut self, function: Option<usize>) -> Option<Piece> {
        let kinds: Vec<Feature> = STATEMENTS
            .iter()
            .copied()
            .filter(|kind| self.has(*kind))
            .collect();
        let kind = *self.random.pick(&kinds);
        self.variables += 1;
        let number = self.variables;
        let callee = match function {
            // Only functions further on, so that nothing recurses by accident.
            Some(own) if kind != Feature::Recursion => {
                let rest = self.homes.len() - own - 1;
                (rest > 0).then(|| own + 1 + self.random.below(rest))
            }
            _ => Some(self.random.below(self.homes.len())),
        };
        let text = match kind {
            Feature::Library => {
                let text = library::statement(self.random, self.target.number, number)?;
                // Names and labels of its own.
                format!("{{ {text} }}")
            }
            Feature::Modern | Feature::Runtime => {
                let processor = self.target.number;
                modern::statement(self.random, kind, processor, self.unit, number)?
            }
            Feature::Call | Feature::Recursion | Feature::Indirect => self.call(kind, callee?),
            _ => {
                let text = self.language_statement(kind);
                let text = text.or_else(|| self.device_statement(kind));
                text.unwrap_or_else(|| format!("x = x * {number} + 3;"))
            }
        };
        Some(Piece::new(kind, format!("    {text}")))
    }

    /// A call of a function of the unit.
    fn call(&mut self, kind: Feature, callee: usize) -> String {
        let number = self.variables;
        match kind {
            Feature::Recursion if self.random.chance(40) => format!("x += walk(x, f{callee});"),
            Feature::Indirect => {
                format!("int (*g{number})(int) = x & 1 ? f{callee} : f0; x ^= g{number}(x);")
            }
            _ => format!("if (x > 3) x += f{callee}(x);"),
        }
    }

    /// What any program in C++ may do.
    fn language_statement(&mut self, kind: Feature) -> Option<String> {
        let (unit, number) = (self.unit, self.variables);
        Some(match kind {
            Feature::Table => match self.random.below(3) {
                1 => format!("x = handlers{unit}[x & 1](x);"),
                0 => format!("x += action{unit}(x);"),
                _ => format!("x += entries{unit}[x & 1].action(x) + *entries{unit}[x & 1].input;"),
            },
            Feature::Weak => match self.random.below(2) {
                0 => "x += optional(x);".to_owned(),
                _ => "x += fallback[x & 1]++;".to_owned(),
            },
            Feature::Clash if self.random.chance(50) => "x += clashing_v;".to_owned(),
            Feature::Clash => "x = clashing_f(x);".to_owned(),
            Feature::Template => match self.random.below(6) {
                0 => "x += twice(x);".to_owned(),
                1 => "x += (int)twice((double)x);".to_owned(),
                2 => "x += hits<int>++ + (int)limits<double>[x & 1];".to_owned(),
                3 => "hits<double> += limits<int>[x & 1];".to_owned(),
                4 => format!("x += powers<{}>[x & 3];", 2 + self.random.below(3)),
                _ => format!("x += tile<{}>(x);", 8 << self.random.below(3)),
            },
            Feature::Inline => match self.random.below(5) {
                4 => "config.width += x; x += fixed_config[x & 1].scale;".to_owned(),
                0 => "x = clamp(x);".to_owned(),
                2 => "x = folded(x);".to_owned(),
                1 => "inline_total += x; x += (int)inline_scale[x & 1];".to_owned(),
                _ => format!("Point p{number} = {{x, 3}}; x += p{number}.norm();"),
            },
            Feature::Virtual if self.random.chance(40) => format!(
                "Disc d{number}; d{number}.size = x; Named *m{number} = &d{number}; Shape *s{number} = new Ring; x += m{number}->length() + s{number}->sides(); delete s{number};"
            ),
            Feature::Virtual => format!(
                "Circle c{number}; Shape b{number}; Shape *s{number} = x & 1 ? &c{number} : &b{number}; s{number}->size = x; x += s{number}->area(x) + s{number}->sides();"
            ),
            Feature::Static => match self.random.below(2) {
                0 => "x = local_step(x);".to_owned(),
                _ => "x = hide(x);".to_owned(),
            },
            Feature::Lambda => format!("auto l{number} = [=](int y) {{ return y * x + {number}; }}; x += l{number}(x);"),
            Feature::Alloca => format!("int *a{number} = (int *)__builtin_alloca((x & 31) * 4); a{number}[x & 7] = x; x += a{number}[x & 3];"),
            Feature::Launch => format!("launched{unit}<<<1, x & 63>>>((int *)(size_t)x); x += cudaGetLastError();"),
            Feature::Print => format!("printf(\"{number}: %d\\n\", x);"),
            Feature::Heap => format!("int *h{number} = new int[x & 15]; h{number}[0] = x; x += h{number}[1]; delete[] h{number};"),
            Feature::Assert => "assert(x != 1234);".to_owned(),
            Feature::Frame => format!("int a{number}[24]; for (int i = 0; i < 24; ++i) a{number}[i] = x * i; x += a{number}[x & 15];"),
            Feature::FunctionShared => {
                format!("__shared__ int s{number}[{}]; s{number}[x & 7] = x; __syncthreads(); x += s{number}[1];", self.random.within(8..=90))
            }
            Feature::ModuleShared => format!("lane{unit}[x & 31] = x; __syncthreads(); x += lane{unit}[3];"),
            Feature::DynamicShared => format!("extern __shared__ int dynamic[]; dynamic[x & 7] = x; x += dynamic[{number}];"),
            Feature::JumpTable => "switch (x) { case 0: x = 91; break; case 1: x *= 37; break; case 2: x ^= 1234; break; case 3: x = __clz(x); break; case 4: x = __popc(x); break; case 5: x /= 3; break; case 6: x = ~x; break; case 7: x %= 13; break; default: x = 5; }".to_owned(),
            Feature::Global => format!("total{unit} += x; samples{unit}[x & 15] += 1.5f;"),
            Feature::Constant => format!("x += (int)weights{unit}[x & 1];"),
            Feature::Managed => format!("shared_count{unit} += x;"),
            _ => return None,
        })
    }

    /// What only device code does, as far as the processor can do it.
    fn device_statement(&mut self, kind: Feature) -> Option<String> {
        let number = self.variables;
        Some(match kind {
            Feature::Cluster if self.target.number >= 90 => "cooperative_groups::this_cluster().sync();".to_owned(),
            Feature::TextureObject => match self.random.below(2) {
                0 => "x += (int)tex2D<float>((cudaTextureObject_t)x, x, 1);".to_owned(),
                _ => "surf2Dwrite(x, (cudaSurfaceObject_t)x, 0, 0);".to_owned(),
            },
            Feature::AsyncCopy if self.target.number >= 80 => format!(
                "__shared__ int q{number}[8]; __pipeline_memcpy_async(q{number}, (int *)(size_t)x, 16); __pipeline_commit(); __pipeline_wait_prior(0); x += q{number}[x & 3];"
            ),
            Feature::Special => format!("volatile int *v{number} = (volatile int *)(size_t)x; *v{number} = clock(); x += *v{number} + blockIdx.z; if (x == 77) __trap();"),
            Feature::Cooperative => match self.random.below(3) {
                0 => "cooperative_groups::this_thread_block().sync();".to_owned(),
                1 => "cooperative_groups::this_grid().sync();".to_owned(),
                _ => format!("auto t{number} = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block()); x += t{number}.shfl_xor(x, 1);"),
            },
            Feature::Vector => match self.random.below(3) {
                0 => format!("float4 v{number} = ((const float4 *)(size_t)x)[1]; x += (int)(v{number}.x + v{number}.w);"),
                1 => format!("int4 v{number} = __ldg((const int4 *)(size_t)x); ((int4 *)(size_t)x)[2] = v{number};"),
                _ => format!("double2 v{number} = __ldcs((const double2 *)(size_t)x); x += (int)(v{number}.x * v{number}.y);"),
            },
            Feature::Order => match self.random.below(4) {
                0 => "__threadfence(); *(volatile int *)(size_t)x = 1; __threadfence_system();".to_owned(),
                1 => format!("x += atomicCAS_block((int *)(size_t)x, {number}, x) + atomicMax_system((int *)(size_t)x, 7);"),
                2 => "x += atomicCAS((unsigned short *)(size_t)x, (unsigned short)x, (unsigned short)3);".to_owned(),
                _ => format!("int r{number}; asm volatile(\"ld.acquire.gpu.b32 %0, [%1];\" : \"=r\"(r{number}) : \"l\"((size_t)x) : \"memory\"); x += r{number};"),
            },
            Feature::Packed => match self.random.below(4) {
                0 => "x += (int)__half2float(blend(__float2half((float)x), __float2half(1.5f)));".to_owned(),
                1 => "x += (int)__bfloat162float(blend(__float2bfloat16((float)x), __float2bfloat16(2.5f)));".to_owned(),
                2 => format!("__half2 h{number} = __hfma2(__float2half2_rn((float)x), __float2half2_rn(0.5f), __float2half2_rn(3.0f)); x += (int)__low2float(h{number});"),
                _ => "x += (int)(float)__nv_fp8_e4m3((float)x) + (int)(float)__nv_fp8_e5m2((float)x * 3);".to_owned(),
            },
            Feature::Integer => match self.random.below(3) {
                0 => "x = __dp4a(x, x + 1, x) + __byte_perm(x, 7, 0x3120) + __funnelshift_l(x, 3, x);".to_owned(),
                1 => "x += (int)((long long)x * 1000003 / (x | 1)) + __mulhi(x, 77);".to_owned(),
                _ => "x = __vadd2(x, 3) + __vabsdiffu4(x, 9) + __brev(x) + __ffs(x);".to_owned(),
            },
            Feature::Ending => match self.random.below(3) {
                0 => "if (x == 4321) __trap();".to_owned(),
                1 => "if (x == 1234) asm volatile(\"exit;\");".to_owned(),
                _ => "__nanosleep(x); x += clock64();".to_owned(),
            },
            Feature::Double => {
                let name = *self.random.pick(&["sin", "exp", "sqrt", "tgamma", "cbrt"]);
                format!("x += (int)({name}((double)x) * {number}.3125);")
            }
            Feature::FastMath => "x += (int)__expf((float)x);".to_owned(),
            Feature::Atomic => format!("x += atomicAdd_system((int *)(size_t)x, {number});"),
            Feature::Warp => "x += __shfl_down_sync(~0u, x, 2) + __ballot_sync(~0u, x > 3);".to_owned(),
            Feature::Barrier => "x += __syncthreads_count(x);".to_owned(),
            _ => return None,
        })
    }
}

const STATEMENTS: &[Feature] = &[
    Feature::Base,
    Feature::Call,
    Feature::Call,
    Feature::Recursion,
    Feature::Indirect,
    Feature::Table,
    Feature::Template,
    Feature::Inline,
    Feature::Virtual,
    Feature::Static,
    Feature::Weak,
    Feature::Cluster,
    Feature::TextureObject,
    Feature::AsyncCopy,
    Feature::Special,
    Feature::Lambda,
    Feature::Cooperative,
    Feature::Print,
    Feature::Heap,
    Feature::Assert,
    Feature::Double,
    Feature::FastMath,
    Feature::Frame,
    Feature::FunctionShared,
    Feature::ModuleShared,
    Feature::DynamicShared,
    Feature::JumpTable,
    Feature::Global,
    Feature::Constant,
    Feature::Managed,
    Feature::Atomic,
    Feature::Warp,
    Feature::Barrier,
    Feature::Vector,
    Feature::Order,
    Feature::Packed,
    Feature::Integer,
    Feature::Ending,
    Feature::Alloca,
    Feature::Launch,
    Feature::Clash,
    Feature::Modern,
    Feature::Modern,
    Feature::Runtime,
    Feature::Runtime,
    Feature::Library,
    Feature::Library,
    Feature::Library,
    Feature::Library,
];
