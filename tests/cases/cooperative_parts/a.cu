//# Shows: grids that wait for each other, tiles that another file works on, and labelled parts of warps
//# Archs: 80 90 100 120
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# Link: debug.cubin = -g b.cubin a.cubin
//# Link: joined.cubin = -r a.cubin b.cubin
//# Link: again.cubin = joined.cubin
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern __device__ int part(cg::thread_block_tile<16> t, int v);
__global__ void grid_sum(int* d) {
    cg::grid_group g = cg::this_grid();
    auto t = cg::tiled_partition<16>(cg::this_thread_block());
    d[g.thread_rank()] = part(t, d[g.thread_rank()]);
    g.sync();
    if (g.thread_rank() == 0) {
        int s = 0;
        for (unsigned i = 0; i < g.size(); i++) s += d[i];
        d[0] = s;
    }
}
