__device__ int reversed(int value) {
    __shared__ int values[32];
    values[threadIdx.x] = value;
    __syncthreads();
    return values[31 - threadIdx.x];
}

__device__ int rotated(int value) {
    __shared__ int values[32];
    values[threadIdx.x] = value;
    __syncthreads();
    return values[(threadIdx.x + 1) % 32];
}
