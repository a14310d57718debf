//# Shows: kernels without a stack pointer in use that name a scoreboard, sleep, meet again or shuffle in branches
//# Archs: 100 120
//# Compile: branches.cu
//# Link: branches.out.cubin = branches.cubin
#include <cuda_pipeline.h>

__global__ void copies(const float4 *in, float4 *out, int n)
{
    __shared__ float4 tile[2][128];
    int i = threadIdx.x;
    __pipeline_memcpy_async(&tile[0][i], &in[i], 16);
    __pipeline_commit();
    float4 sum = {0, 0, 0, 0};
    for (int k = 1; k < n; k++) {
        __pipeline_memcpy_async(&tile[k & 1][i], &in[k * 128 + i], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        sum.x += tile[(k - 1) & 1][i ^ 1].x;
        sum.y += tile[(k - 1) & 1][i ^ 2].y;
    }
    __pipeline_wait_prior(0);
    out[i] = sum;
}

__global__ void sleeps(volatile int *flag, int *out)
{
    while (!*flag)
        __nanosleep(100);
    out[threadIdx.x] = *flag + 1;
}

__global__ void meets(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (in[i] > 3) {
        for (int k = 0; k < in[i]; k++)
            if (in[k] & 1)
                sum += in[k + i];
        sum *= n;
    }
    out[i] = sum;
}

__global__ void shuffles(const int *in, int *out, int n)
{
    int value = in[threadIdx.x];
    if (value < n) {
        value += __shfl_xor_sync(0xffffffffu, value, 11);
    } else {
        atomicAdd(out, value);
        if (value == in[0])
            return;
    }
    value += __shfl_xor_sync(0xffffffffu, value, 15);
    out[threadIdx.x] = value;
}
