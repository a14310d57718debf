extern __device__ double scaled(double);
// The second count is waited for, and the first one with it.
__global__ void meets(unsigned *p, int n)
{
    extern __shared__ unsigned s[];
    s[threadIdx.x] = p[n];
    unsigned v = __popc(p[n + 1]) + __popc(p[n + 2]) * n;
    __syncthreads();
    unsigned w = s[threadIdx.x ^ 1];
    p[threadIdx.x] = __popc(w) + v;
}
// What reads shared memory comes some cycles behind the barrier.
__global__ void ranks(unsigned *p, int n)
{
    __shared__ unsigned s[256];
    unsigned v = p[threadIdx.x], w = p[threadIdx.x + n], x = p[threadIdx.x + 2 * n];
    s[v & 255] = w;
    unsigned m = __ballot_sync(~0u, w & 1), a = __popc(m), b = __popc(m & v), c = __popc(x & m);
    s[x & 255] = a + v;
    __syncthreads();
    a += __popc(b ^ n) + s[threadIdx.x];
    __syncthreads();
    s[a & 255] = b + c;
    p[threadIdx.x] = a;
    __syncthreads();
    unsigned d = __popc(s[threadIdx.x]), e = __popc(a), f = __popc(b);
    p[threadIdx.x + n] = d + c;
    __syncthreads();
    p[threadIdx.x + 2 * n] = d * e + f;
}
// Operands are kept beyond a double.
__global__ void halves(double *p, unsigned *q, int n)
{
    __shared__ double s[256];
    __shared__ int w[256];
    s[threadIdx.x] = p[threadIdx.x];
    w[threadIdx.x] = threadIdx.x;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && s[threadIdx.x + half] > s[threadIdx.x]) {
            s[threadIdx.x] = s[threadIdx.x + half];
            w[threadIdx.x] = w[threadIdx.x + half];
        }
    }
    __syncthreads();
    q[threadIdx.x] = __popc(w[threadIdx.x]) + __popc(threadIdx.x);
}
// Constants of the warp right before threads meet.
__global__ void calls(double *p, int n)
{
    double x = p[threadIdx.x];
    if (threadIdx.x < n) {
        x = scaled(x);
        x += 0.1;
    }
    p[threadIdx.x + n] = x;
}
__noinline__ __device__ double scaled(double x) { return x * 3 + 1; }
