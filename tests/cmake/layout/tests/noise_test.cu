#include "noise/noise.h"

#include <cstdio>

__global__ void first(unsigned *value) { *value = noise_at(0); }

int main() {
    first<<<1, 1>>>(nullptr);
    std::puts(cudaGetErrorName(cudaGetLastError()));
}
