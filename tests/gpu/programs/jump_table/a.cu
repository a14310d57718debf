// A switch that becomes a jump through a table.
__device__ int select(int which, int value);

extern "C" __global__ void test(int *out) {
    int i = threadIdx.x;
    out[i] = select(i % 10, i);
}
