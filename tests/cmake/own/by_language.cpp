__device__ int twice(int value);

__global__ void kernel(int *values) { values[threadIdx.x] = twice(values[threadIdx.x]); }

int main() {
    kernel<<<1, 1>>>(nullptr);
    return cudaGetLastError() == cudaSuccess;
}
