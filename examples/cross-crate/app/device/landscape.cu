#include "noise.cuh"

__global__ void landscape(unsigned *heights, unsigned count, unsigned seed) {
    unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < count) {
        heights[place] = noise(place, seed);
    }
}

extern "C" int fill_landscape(unsigned *heights, unsigned count, unsigned seed) {
    unsigned *device = nullptr;
    cudaError_t error = cudaMalloc(&device, count * sizeof(unsigned));
    if (error != cudaSuccess) {
        return error;
    }
    landscape<<<(count + 255) / 256, 256>>>(device, count, seed);
    error = cudaGetLastError();
    if (error == cudaSuccess) {
        error = cudaMemcpy(heights, device, count * sizeof(unsigned), cudaMemcpyDeviceToHost);
    }
    cudaFree(device);
    return error;
}

extern "C" const char *describe_error(int error) {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}
