// Shared memory of the kernel and of a function in another file do not overlap.
__device__ int reversed(int value);
__device__ int rotated(int value);

extern "C" __global__ void test(int *out) {
    __shared__ int own[32];
    int i = threadIdx.x;
    own[i] = 1000 * i;
    __syncthreads();
    int sum = reversed(i) + 100 * rotated(i);
    __syncthreads();
    out[i] = sum + own[31 - i];
}
