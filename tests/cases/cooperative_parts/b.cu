#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__device__ int part(cg::thread_block_tile<16> t, int v) {
    int s = cg::reduce(t, v, cg::plus<int>());
    return s + cg::inclusive_scan(t, v);
}
__global__ void coalesced(int* d) {
    if (threadIdx.x & 1) {
        auto c = cg::coalesced_threads();
        d[threadIdx.x] = c.shfl(d[threadIdx.x], 0) + c.size();
    }
    auto m = cg::labeled_partition(cg::coalesced_threads(), d[threadIdx.x] & 3);
    d[threadIdx.x + 1] = m.size();
}
