// Constants of two files, one of which the host sets.
extern __constant__ int weights[4];
__constant__ int host_value = 1;
__constant__ int bases[4] = {10, 20, 30, 40};

extern "C" __global__ void test(int *out) {
    int i = threadIdx.x;
    out[i] = weights[i % 4] * host_value + bases[i / 8];
}
