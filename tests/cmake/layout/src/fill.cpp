#include "noise/noise.h"

__global__ static void fill(unsigned *values, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count) {
        values[index] = noise_at(index);
    }
}

int noise_fill(unsigned *values, int count) {
    fill<<<(count + 127) / 128, 128>>>(values, count);
    return cudaGetLastError();
}
