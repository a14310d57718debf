#include "dot.h"

__device__ double block_sum(double value) {
    __shared__ double values[256];
    values[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            values[threadIdx.x] += values[threadIdx.x + half];
        }
        __syncthreads();
    }
    return values[0];
}
