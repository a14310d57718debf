__device__ unsigned steps(unsigned long long number);

extern "C" __global__ void count_steps(unsigned *counts, unsigned length) {
    unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number < length) {
        counts[number] = steps(number);
    }
}
