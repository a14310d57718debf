__device__ float multiply_add(float a, float x, float y);

__global__ void saxpy_kernel(float a, const float *x, float *y, size_t count) {
    size_t at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) {
        y[at] = multiply_add(a, x[at], y[at]);
    }
}

static cudaError_t run(float a, const float *x, float *y, size_t count, float *device) {
    float *device_y = device + count;
    size_t bytes = count * sizeof(float);
    cudaError_t error = cudaMemcpy(device, x, bytes, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) {
        error = cudaMemcpy(device_y, y, bytes, cudaMemcpyHostToDevice);
    }
    if (error == cudaSuccess) {
        saxpy_kernel<<<(count + 255) / 256, 256>>>(a, device, device_y, count);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        error = cudaMemcpy(y, device_y, bytes, cudaMemcpyDeviceToHost);
    }
    return error;
}

extern "C" int saxpy(float a, const float *x, float *y, size_t count) {
    float *device = nullptr;
    cudaError_t error = cudaMalloc(&device, 2 * count * sizeof(float));
    if (error == cudaSuccess) {
        error = run(a, x, y, count, device);
        cudaFree(device);
    }
    return error;
}

extern "C" const char *describe_error(int error) {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}
