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
// A count ends behind a function before it in its turn, and before one behind it, but not before a power of two.
__global__ void in_turn(float *p, unsigned *q)
{
    p[0] = exp2f(p[1]);
    __syncthreads();
    unsigned i = threadIdx.x;
    unsigned late = 32 - __clz(i), early = __popc(q[5]);
    q[2] = early + 3;
    __syncwarp();
    q[1] = late;
    __syncwarp();
    unsigned count = __popc(i + 7);
    float root = rsqrtf(p[6]);
    p[3] = root + 3;
    __syncwarp();
    q[4] = count;
    __syncwarp();
    count = __popc(i + 11);
    float power = exp2f(p[8]);
    p[9] = power + 3;
    __syncwarp();
    q[7] = count;
    __syncwarp();
    if (i > q[20])
        atomicAdd(q + 30, q[21]);
}
__noinline__ __device__ double scaled(double x) { return x * 3 + 1; }
