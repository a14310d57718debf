//# Shows: what waits for an instruction comes two cycles after it, and predicates of atomics come with their operands
//# Archs: 100 120
//# Compile: gather.cu
//# Link: gather.out.cubin = gather.cubin
//# Compile: stall.ptx
//# Link: stall.out.cubin = stall.cubin
#include <cuda_fp16.h>

// What comes last shares with a result that the next instruction waits for, which is two cycles later then.
__global__ void gather(const short *in, const float *scale, short *first, short *second, const int *table,
                       const int *sizes, const int *starts, int count, int block, int width, int rest, int heads)
{
    int at = blockIdx.x;
    if (at >= count)
        return;
    int batch = sizes[at];
    int offset = at - starts[batch];
    int row = table[batch * width + offset / block];
    long from = (long)row * block * heads + offset % block * heads;
    for (int i = threadIdx.x; i < heads; i += blockDim.x)
        first[(long)at * heads + i] = in[from + i];
    for (int i = threadIdx.x; i < rest; i += blockDim.x)
        second[(long)at * rest + i] = in[from + heads + i];
}

// The predicate of an atomic without a result comes when its operands are read.
__global__ void generic(__half2 *out, int n)
{
    atomicAdd(out, __half2(n, n));
    atomicAdd(out + 1, __half2(n + 1, n));
}

// An atomic on floats is a load from memory.
__global__ void floats(const float *in, float *out, int n)
{
    __shared__ float all[64];
    all[threadIdx.x & 63] = in[threadIdx.x];
    __syncthreads();
    if (n > 3)
        atomicAdd(out, all[n & 63]);
    float a = in[n];
    if (n > 7)
        a += in[n + 1];
    atomicAdd(out + 1, a);
    out[n] = a;
}
