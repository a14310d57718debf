// A program and a shared library, each with a device link of its own and a device function of the same name.
#include "../check.h"

__device__ int twice(int x) { return 2 * x; }
static __global__ void run(int *out, int x) { *out = twice(x); }

int library_result(int);

int main() {
    int *out = nullptr, result = 0;
    require(cudaMalloc(&out, sizeof(int)), "cudaMalloc");
    run<<<1, 1>>>(out, 21);
    require(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost), "cudaMemcpy");
    equal(result, 42, "the result of the program");
    equal(library_result(21), 2100, "the result of the library");
    return 0;
}
