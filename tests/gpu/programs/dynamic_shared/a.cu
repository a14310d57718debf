// Shared memory whose size is chosen at launch begins behind that of fixed size, as another file sees it too.
extern __shared__ int chosen[];
__device__ void store(int value);

extern "C" __global__ void test(int *out) {
    __shared__ int fixed[32];
    int i = threadIdx.x;
    fixed[i] = -1;
    __syncthreads();
    store(10 * i);
    __syncthreads();
    out[i] = chosen[31 - i] + fixed[i];
}
