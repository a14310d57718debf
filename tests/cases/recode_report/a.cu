//# Shows: with -g what reports errors before some threads end takes time, in which more becomes known
//# Archs: 100 103 120
//# Compile: a.cu
//# Link: out.cubin = -g a.cubin
//# Link: joined.cubin = -r -g a.cubin
//# Link: again.cubin = -g joined.cubin
#include <cuda_fp16.h>
template <typename T> __device__ void reduce(const T* in, T* out, int n) {
    __shared__ T sums[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    T sum = threadIdx.x < n ? in[threadIdx.x] : T(0);
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (warp > 0) return;
    sum = lane < (blockDim.x + 31) / 32 ? sums[lane] : T(0);
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) out[blockIdx.x] = sum;
}
__global__ void longs(const long* in, long* out, int n) { reduce(in, out, n); }
__global__ void ints(const int* in, int* out, int n) { reduce(in, out, n); }
__global__ void floats(const float* in, float* out, int n) { reduce(in, out, n); }
__global__ void halves(__half2* out, __half2 a, __half2 b) {
    __half2* p = out + threadIdx.x * 2;
    atomicAdd(p, a);
    atomicAdd(p + 1, b);
}
template <int N> __device__ void columns(const float* in, float* out, int n) {
    float sum[N] = {};
    for (int i = threadIdx.x; i < n; i += 32)
        for (int j = 0; j < N; j++) sum[j] += in[i * N + j];
    for (int j = 0; j < N; j++)
        for (int d = 16; d; d >>= 1) sum[j] += __shfl_xor_sync(~0u, sum[j], d);
    if (threadIdx.x != 0) return;
    for (int j = 0; j < N; j++) out[j] = sum[j] * 2.f;
}
__global__ void columns4(const float* in, float* out, int n) { columns<4>(in, out, n); }
__global__ void columns7(const float* in, float* out, int n) { columns<7>(in, out, n); }
__global__ void columns8(const float* in, float* out, int n) { columns<8>(in, out, n); }
