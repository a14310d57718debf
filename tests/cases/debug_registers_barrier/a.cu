//# Shows: where a variable holds the number of a barrier, its range ends at the BAR and not at what gathers the threads of a warp before it
//# Archs: 90 100 110 120
//# Compile: a.cu -G
//# Link: out.cubin = a.cubin
//# Link: debug.cubin = -g a.cubin
__device__ __noinline__ void meet(unsigned id, unsigned threads) { __barrier_sync_count(id, threads); }
__device__ __noinline__ void meet_all(unsigned id) { __barrier_sync(id); }
__global__ void k(int *p, int n) {
    p[threadIdx.x] = n;
    meet(1 + n, 64);
    p[threadIdx.x + 1] += p[threadIdx.x];
    meet_all(n);
    p[threadIdx.x + 2] += p[threadIdx.x];
}
