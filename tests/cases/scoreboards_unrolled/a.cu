//# Shows: scoreboards that loops bring back, that atomic sums without a result hold, and that are over behind pauses
//# Archs: 100 120
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# Link: debug.cubin = -g a.cubin
//# Link[100]: slow.cubin = -arch=sm_103 a.cubin

// What a loop brings back is waited for unless something that was held before covers it: a result, or operands.
__global__ void gathers(const int* in, int* out, int n, int m)
{
    __shared__ int tile[64];
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    int product = 1;
    int sum = in[t + 1];
    tile[t & 63] = in[t];
    __syncthreads();
    product = tile[t & 63];
#pragma unroll 4
    for (int i = t; i < 8; i += 32) {
        if (t == m) {
#pragma unroll 2
            for (int j = 0; j < n - t; j += 32) {
#pragma unroll 8
                for (int k = 0; k < m; k++)
                    sum += sum - product;
                out[(t * 2 + j * 2) % n] = sum;
            }
            product *= sum > product ? in[(t * 4 + i * m) % n] : product * sum;
        }
    }
    out[t] = product;
}

// Where doubles are slow, nothing gains on the pauses between them; sums in memory hold a scoreboard for nobody.
__global__ void adds(const double* in, double* out, int n, int m)
{
    __shared__ double tile[64];
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    double sum = 0.25;
    double last = in[t + 1];
    if (last == m) {
#pragma unroll 1
        for (int i = t; i < m; i += 2)
            sum += tile[(t + i * 2) & 63];
        sum += last;
        out[t % n] = last;
        if (sum < m)
            sum += tile[(t * 4) & 63] - tile[(t + 1) & 63];
#pragma unroll 1
        for (int i = 0; i < 8; i++) {
            sum += in[(t * 4 + i) % n] * in[(t + 1) % n];
            last += __shfl_xor_sync(~0u, in[(t + 2 + i) % n], 4);
            atomicAdd(&out[m], last);
        }
    }
    for (int i = 1; i < n - t; i += 32) {
        sum += __shfl_xor_sync(~0u, last, 8);
        last = in[(t + 3 + i * m) % n];
    }
    for (int i = 0; i < 16; i++)
        tile[(t * 3 + i * 2) & 63] = last;
    out[t] = sum;
}

// Pairs of shared memory are there a cycle sooner if no thread has a part in their address.
__global__ void steps(const double* band, double* out, const double* x, long long n, long long stride, int unit)
{
    __shared__ double tile[64];
    int t = threadIdx.x;
    double sum = 0;
    for (long long base = 0; base < n; base += 64) {
        __syncthreads();
        tile[t] = x[base + t];
        __syncthreads();
        long long end = n - base < 64 ? n - base : 64;
#pragma unroll 16
        for (long long k = 0; k < end; k++) {
            long long row = base + k;
            double v = (row == t && unit) ? 1.0 : band[row * stride + (t - row)];
            sum += tile[k] * v;
        }
    }
    out[t] = sum;
}
