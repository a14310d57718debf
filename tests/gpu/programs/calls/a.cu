// Calls through three files, back into the first.
__device__ int middle(int value);

__device__ __noinline__ int twice(int value) { return 2 * value; }

extern "C" __global__ void test(int *out) {
    int i = threadIdx.x;
    out[i] = middle(i) + 1;
}
