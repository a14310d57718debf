// Half of a pair: the kernel, its shared memory, a constant and two globals.
__device__ int calls = 7;
__device__ float last[4];
__constant__ float weights[4] = {1.0f, 0.5f, 0.25f, 0.125f};

extern __device__ float callee(float value, int lane);

extern "C" __global__ void caller(float *out, int n) {
    __shared__ float tile[64];
    int i = threadIdx.x;
    tile[i % 64] = out[i % n];
    __syncthreads();
    out[i] = callee(tile[(i + 1) % 64], i) * weights[i % 4];
    if (i == 0)
        last[calls++ % 4] = out[0];
}
