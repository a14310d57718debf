// Finds the number that takes the most steps. The result has the steps in its upper half, so that it can be compared.
__device__ unsigned collatz_steps(unsigned long long number);

extern "C" __global__ void search(unsigned limit, unsigned long long *best) {
    unsigned threads = gridDim.x * blockDim.x;
    for (unsigned n = 1 + blockIdx.x * blockDim.x + threadIdx.x; n < limit; n += threads) {
        unsigned long long steps = collatz_steps(n);
        atomicMax(best, steps << 32 | n);
    }
}
