//# Shows: loops do not wait for the scoreboard that a DEPBAR names, and ends of blocks for what is over by then
//# Archs: 100 120
//# Compile: copies.cu
//# Link: copies.out.cubin = copies.cubin
#include <cuda_pipeline.h>

// Who waits for copies names their scoreboard, so that loops do not wait for it.
__global__ void copies(const int *in, int *out, int n)
{
    __shared__ int all[4][256];
    for (int i = 0; i < 3; i++) {
        __pipeline_memcpy_async(&all[i][threadIdx.x], in + i * 256 + threadIdx.x, 4);
        __pipeline_commit();
    }
    int sum = 0;
    for (int i = 0; i < n; i++) {
        __pipeline_wait_prior(2);
        __syncthreads();
        sum += all[i & 3][threadIdx.x ^ 1];
        if (i + 3 < n)
            __pipeline_memcpy_async(&all[(i + 3) & 3][threadIdx.x], in + (i + 3) * 256 + threadIdx.x, 4);
        __pipeline_commit();
    }
    out[threadIdx.x] = sum;
}

// A result in uniform registers is there earlier for a branch, what is stored is read earlier before an end.
__global__ void ends(const float *in, float *out, int n, int m)
{
    __shared__ float all[256];
    float a = in[threadIdx.x];
    all[threadIdx.x] = a;
    __syncthreads();
    float b = all[threadIdx.x ^ 7], c = all[threadIdx.x ^ 9];
    if (threadIdx.x < n) {
        all[threadIdx.x ^ 1] = b * a;
        a += b * m + c;
        all[threadIdx.x ^ 3] = a;
        if (a > 3)
            return;
        out[threadIdx.x] = all[threadIdx.x ^ 2];
    }
    for (int i = 0; i < m; i++)
        b += __shfl_xor_sync(~0u, b, i) * all[i];
    out[threadIdx.x + n] = b + c;
}
