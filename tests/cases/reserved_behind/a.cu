//# Shows: the bytes of reserved shared memory on sm_110 begin later where sections without content are aligned more strictly
//# Archs: 110
//# For: ALIGN = 16 32 64 128 256
//# Compile: global-{ALIGN}.cubin = a.cu -DALIGN={ALIGN}
//# Compile: shared-{ALIGN}.cubin = b.cu -DALIGN={ALIGN}
//# Compile: lines-{ALIGN}.cubin = b.cu -DALIGN={ALIGN} -lineinfo
//# Link: global-{ALIGN}.out.cubin = global-{ALIGN}.cubin
//# Link: both-{ALIGN}.out.cubin = global-{ALIGN}.cubin shared-{ALIGN}.cubin
//# Link: lines-{ALIGN}.out.cubin = lines-{ALIGN}.cubin global-{ALIGN}.cubin -g
//# Link: relocatable-{ALIGN}.out.cubin = -r lines-{ALIGN}.cubin
//# Link: again-{ALIGN}.out.cubin = relocatable-{ALIGN}.out.cubin global-{ALIGN}.cubin -preserve-relocs
__device__ __align__(ALIGN) char filled[ALIGN];
__device__ int first = 3;
extern "C" __device__ __noinline__ int step(int x) {
    return x * first + filled[x & 7];
}
__global__ void kernel(int *p, int n) {
    for (int i = 0; i < n; i++)
        p[i] = step(p[i] + i);
    filled[n & 7] = p[0];
}
