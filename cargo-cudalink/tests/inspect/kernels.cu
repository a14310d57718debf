// Kernels that use every kind of resource that inspect shows.
#include <cstdio>

namespace shapes {
template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
struct Block { char bytes[4500]; };
}

__constant__ float table[64];
__device__ int counter = 7;
__device__ double big[100];
__managed__ int managed_flag;
extern __device__ int helper(int);
extern __device__ int endless(int);

__global__ void plain(int *p, float f, double3 v) { p[threadIdx.x] = f + v.x + table[threadIdx.x]; }

template <class T> __global__ void shared_memory(T *out, const T *in, int n) {
    __shared__ T buffer[256];
    extern __shared__ char dynamic[];
    buffer[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = shapes::twice(buffer[255 - threadIdx.x]) + helper(n) + dynamic[n];
    atomicAdd(&counter, 1);
    managed_flag = 1;
}
template __global__ void shared_memory<float>(float *, const float *, int);
template __global__ void shared_memory<double>(double *, const double *, int);

__global__ void stack(int *p, int n) {
    int a[64];
    for (int i = 0; i < 64; i++) a[i] = p[i] * n;
    for (int i = 0; i < n; i++) p[i] = a[(p[i] + i) & 63];
    big[n] = p[n];
    printf("%d\n", n);
}

__global__ void recursion(int *p) { p[0] = endless(p[1]); }

__global__ void __launch_bounds__(128, 4) many_bytes(shapes::Block b, int x, int *o) { o[0] = b.bytes[x]; }

__global__ void barriers(int *p) {
    __shared__ int a[33];
    a[threadIdx.x] = p[threadIdx.x];
    asm volatile("bar.sync 7;");
    p[0] = a[3];
}

__global__ void literals(double *p, int i) {
    switch (i) {
    case 0: p[0] = 1.23456789e5 * p[1]; break;
    case 1: p[1] = 3.3e-7 + p[2]; break;
    case 2: p[2] = p[3] * 7.77; break;
    case 3: p[3] = sin(p[0]); break;
    case 4: p[4] = p[3] / p[2]; break;
    case 5: p[5] = 9.11 + p[1]; break;
    }
}

__global__ void texture(cudaTextureObject_t t, float *o) { o[0] = tex1Dfetch<float>(t, 3); }

int main() {
    plain<<<1, 1>>>(nullptr, 1, double3{});
    shared_memory<float><<<1, 1>>>(nullptr, nullptr, 1);
    shared_memory<double><<<1, 1>>>(nullptr, nullptr, 1);
    stack<<<1, 1>>>(nullptr, 1);
    recursion<<<1, 1>>>(nullptr);
    many_bytes<<<1, 1>>>({}, 1, nullptr);
    barriers<<<1, 1>>>(nullptr);
    literals<<<1, 1>>>(nullptr, 1);
    texture<<<1, 1>>>(0, nullptr);
}
