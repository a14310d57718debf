// Counts the primes below a limit, each thread those of some numbers.
__device__ bool is_prime(unsigned number);

extern "C" __global__ void count_primes(unsigned limit, unsigned *count) {
    unsigned found = 0;
    unsigned step = gridDim.x * blockDim.x;
    for (unsigned number = blockIdx.x * blockDim.x + threadIdx.x; number < limit; number += step) {
        found += is_prime(number);
    }
    atomicAdd(count, found);
}
