//# Shows: line tables of functions that are left out, of units without any left, and the order of those that stay
//# Compile: a.cubin = a.cu -lineinfo
//# Compile: b.cubin = b.cu -lineinfo
//# Compile: c.cubin = c.cu -lineinfo
//# Compile: ag.cubin = a.cu -G
//# Compile: bg.cubin = b.cu -G
//# Link: ab.cubin = a.cubin b.cubin
//# Link: ba.cubin = b.cubin a.cubin
//# Link: cab.cubin = c.cubin a.cubin b.cubin
//# Link: abg.cubin = -g ag.cubin bg.cubin
//# Link: bag.cubin = -g bg.cubin ag.cubin
extern __device__ int late(int x);
__device__ __noinline__ int dead_first(int x) {
    return x * 3 + 1;
}
__global__ void first(int *p) {
    p[0] = late(p[1]);
}
__device__ __noinline__ int dead_last(int x) {
    return x * 5 - 1;
}
