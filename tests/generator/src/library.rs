//! Statements in CUDA C++ that use the libraries of the toolkit.

use rustnvlink_tests::random::Random;

/// How many programs in a hundred have any.
const PROGRAMS: usize = 25;

/// Keeps the decision apart from the source of the program.
const SALT: u64 = 0x6c69_6272;

/// What units with such statements include.
pub(crate) const HEAD: &str = "\
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/functional>
#include <cuda/pipeline>
#include <cuda/std/complex>
#include <cuda/std/tuple>
#include <mma.h>
";

/// Which processors take a statement, from the first of these numbers on, and the statement. `#` stands for a number of
/// its own.
const STATEMENTS: &[(u32, &str)] = &[
    (
        75,
        "__shared__ typename cub::BlockReduce<int, 64>::TempStorage t#; x = cub::BlockReduce<int, 64>(t#).Sum(x);",
    ),
    (
        75,
        "__shared__ typename cub::BlockScan<int, 64>::TempStorage t#; cub::BlockScan<int, 64>(t#).ExclusiveSum(x, x);",
    ),
    (
        75,
        "__shared__ typename cub::BlockRadixSort<int, 32, 2>::TempStorage t#; int k#[2] = {x, x + 1}; cub::BlockRadixSort<int, 32, 2>(t#).Sort(k#); x = k#[0];",
    ),
    (
        75,
        "__shared__ typename cub::WarpReduce<float>::TempStorage t#[2]; x += (int)cub::WarpReduce<float>(t#[threadIdx.x / 32 & 1]).Sum((float)x);",
    ),
    (
        75,
        "cuda::atomic_ref<int, cuda::thread_scope_device> a#(*(int *)(size_t)x); x += a#.fetch_add(#, cuda::memory_order_acq_rel);",
    ),
    (
        75,
        "cuda::atomic_ref<long long, cuda::thread_scope_system> a#(*(long long *)(size_t)x); long long e# = 3; a#.compare_exchange_strong(e#, x); x += (int)e#;",
    ),
    (
        80,
        "__shared__ cuda::barrier<cuda::thread_scope_block> b#; if (threadIdx.x == 0) init(&b#, blockDim.x); __syncthreads(); b#.arrive_and_wait();",
    ),
    (
        80,
        "__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> s#; __shared__ int q#[64]; auto p# = cuda::make_pipeline(cooperative_groups::this_thread_block(), &s#); p#.producer_acquire(); cuda::memcpy_async(q# + threadIdx.x, (int *)(size_t)x, 4, p#); p#.producer_commit(); p#.consumer_wait(); x += q#[3]; p#.consumer_release();",
    ),
    (
        80,
        "auto w# = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block()); x = cooperative_groups::reduce(w#, x, cooperative_groups::plus<int>());",
    ),
    (
        75,
        "auto w# = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block()); x += cooperative_groups::inclusive_scan(w#, x);",
    ),
    (
        75,
        "auto w# = cooperative_groups::coalesced_threads(); x += w#.shfl(x, 0) + w#.size();",
    ),
    (
        80,
        "__shared__ int m#[64]; auto g# = cooperative_groups::this_thread_block(); cooperative_groups::memcpy_async(g#, m#, (int *)(size_t)x, sizeof m#); cooperative_groups::wait(g#); x += m#[x & 63];",
    ),
    (
        75,
        "nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> a#; nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::col_major> b#; nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c#; nvcuda::wmma::fill_fragment(c#, 0.5f); nvcuda::wmma::load_matrix_sync(a#, (const __half *)(size_t)x, 16); nvcuda::wmma::load_matrix_sync(b#, (const __half *)(size_t)x + 256, 16); nvcuda::wmma::mma_sync(c#, a#, b#, c#); nvcuda::wmma::store_matrix_sync((float *)(size_t)x, c#, 16, nvcuda::wmma::mem_row_major);",
    ),
    (
        80,
        "x = __reduce_add_sync(~0u, x) + __reduce_max_sync(~0u, x); x ^= __match_any_sync(~0u, x);",
    ),
    (
        75,
        "cuda::std::complex<float> z#((float)x, 2.0f); z# = z# * z# / cuda::std::complex<float>(1.5f, (float)x); x += (int)z#.real();",
    ),
    (
        75,
        "auto t# = cuda::std::make_tuple(x, 2.5, (char)x); x += cuda::std::get<0>(t#) + (int)cuda::std::get<1>(t#);",
    ),
    (
        90,
        "cudaGridDependencySynchronize(); x += #; cudaTriggerProgrammaticLaunchCompletion();",
    ),
    (
        90,
        "auto c# = cooperative_groups::this_cluster(); __shared__ int d#[8]; d#[x & 7] = x; c#.sync(); x += c#.map_shared_rank(d#, 1)[2] + c#.block_rank(); c#.barrier_wait(c#.barrier_arrive());",
    ),
    (
        90,
        "__shared__ alignas(128) int d#[32]; __shared__ cuda::barrier<cuda::thread_scope_block> b#; if (threadIdx.x == 0) { init(&b#, 1); cuda::device::memcpy_async_tx(d#, (int *)(size_t)x, cuda::aligned_size_t<16>(64), b#); (void)cuda::device::barrier_arrive_tx(b#, 1, 64); } x += d#[x & 31];",
    ),
    (
        90,
        "__shared__ int s#; unsigned a#, r# = 1; asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(a#) : \"r\"((unsigned)__cvta_generic_to_shared(&s#)), \"r\"(r#)); asm volatile(\"st.shared::cluster.u32 [%0], %1;\" ::\"r\"(a#), \"r\"(x) : \"memory\"); x += s#;",
    ),
    (
        75,
        "char *v# = (char *)__builtin_alloca(x & 63); for (int i = 0; i < (x & 63); ++i) v#[i] = i * x; x += v#[x & 15];",
    ),
    (
        75,
        "printf(\"%d %s %f %lld %c\\n\", x, \"#\", x * 0.5, (long long)x, 'c');",
    ),
    (
        75,
        "struct Pair# { int a; double b; }; Pair# p# = {x, x * 0.25}; auto f# = [p#](auto y) { return p#.a * y + p#.b; }; x += (int)(f#(2) + f#(2.5f));",
    ),
    (75, "try_next#: if (x > 1000) { x /= 3; goto try_next#; }"),
];

/// Whether the program of a seed has such statements.
pub(crate) fn is_used(seed: u64) -> bool {
    Random::new(seed ^ SALT).chance(PROGRAMS)
}

/// One of the statements that a processor takes.
pub(crate) fn statement(random: &mut Random, processor: u32, number: usize) -> Option<String> {
    let (first, text) = random.pick(STATEMENTS);
    (processor >= *first).then(|| text.replace('#', &number.to_string()))
}
