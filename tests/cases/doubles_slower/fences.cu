#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
// Barriers in shared memory are set up, and fences tell others of it, beside doubles.
__global__ void barriers(double *p, const double *q, int n)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    __shared__ double s[128];
    double v = q[threadIdx.x] * n;
    if (threadIdx.x == 0)
        init(&b, blockDim.x);
    __syncthreads();
    s[threadIdx.x] = v;
    auto t = b.arrive();
    v += q[threadIdx.x + n];
    b.wait(static_cast<decltype(t) &&>(t));
    p[threadIdx.x] = s[threadIdx.x ^ 1] * v;
}
__global__ void copies(double *p, const double *q, int n)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    __shared__ alignas(128) double s[128];
    double v = q[threadIdx.x] * n;
    if (threadIdx.x == 0) {
        init(&b, blockDim.x);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        cuda::memcpy_async(s, q, cuda::aligned_size_t<16>(sizeof s), b);
    auto t = b.arrive();
    v += q[threadIdx.x + n];
    b.wait(static_cast<decltype(t) &&>(t));
    s[threadIdx.x] *= v;
    cuda::device::experimental::fence_proxy_async_shared_cta();
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x ^ 1] * v;
}
// A kernel that locks what all blocks compare.
__global__ void locks(double *best, int *lock, const double *p, int n)
{
    double v = p[threadIdx.x] * n;
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1))
            ;
        __threadfence();
        if (v > best[0]) {
            best[0] = v;
            best[1] = v + n;
        }
        __threadfence();
        atomicExch(lock, 0);
    }
}
