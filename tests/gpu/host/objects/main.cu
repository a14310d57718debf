// Kernels, variables and managed memory across three files, launched through the runtime.
#include "../check.h"

extern __device__ int triple(int);
extern __device__ int offset;
extern __constant__ int factor;
__managed__ int total = 5;

template <typename T> __global__ void apply(T *out, T in) { out[threadIdx.x] = triple(in + threadIdx.x) + offset; }
static __global__ void add() { atomicAdd(&total, factor); }

int launch_part(int);
void set_factor(int);

int main() {
    int *out = nullptr;
    require(cudaMallocManaged(&out, 32 * sizeof(int)), "cudaMallocManaged");
    set_factor(4);
    apply<<<1, 32>>>(out, 10);
    add<<<1, 64>>>();
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (int i = 0; i < 32; i++) equal(out[i], (10 + i) * 4 + 7, "a result of apply");
    equal(total, 5 + 64 * 4, "total");
    equal(launch_part(6), 6 * 4 + 7, "the result of the other file");
    return 0;
}
