// Variables with and without initial values, one of which the host sets, and a pointer to a variable of another file.
extern __device__ int *pointer;
__device__ int host_value = 5;
__device__ int squares[4] = {0, 1, 4, 9};
__device__ int zeros[32];

extern "C" __global__ void test(int *out) {
    int i = threadIdx.x;
    zeros[i] += 2;
    out[i] = host_value + squares[i % 4] + zeros[i] + *pointer;
}
