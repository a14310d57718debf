// The library's kernel, whose function is in another file.
#include "../../check.h"

extern __device__ int twice(int);
static __global__ void run(int *out, int x) { *out = twice(x); }

int library_result(int x) {
    int *out = nullptr, result = 0;
    require(cudaMalloc(&out, sizeof(int)), "cudaMalloc");
    run<<<1, 1>>>(out, x);
    require(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return result;
}
