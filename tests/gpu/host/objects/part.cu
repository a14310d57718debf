// What the kernels of both files use.
#include "../check.h"

extern __device__ int scaled(int);
__device__ int offset = 7;
__constant__ int factor = 3;

__device__ int triple(int x) { return scaled(x); }
static __global__ void store(int *out, int x) { *out = triple(x) + offset; }

void set_factor(int value) { require(cudaMemcpyToSymbol(factor, &value, sizeof value), "cudaMemcpyToSymbol"); }

int launch_part(int x) {
    int *out = nullptr, result = 0;
    require(cudaMalloc(&out, sizeof(int)), "cudaMalloc");
    store<<<1, 1>>>(out, x);
    require(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return result;
}
