// Doubles between two products of which one multiplies the upper half that the other one made: that takes 6 cycles. What is
// only added takes 4.

__global__ void between(const double *in, double *out, int n, int m) {
    __shared__ double tile[64];
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    double a = in[t], b = in[t + 1], c = in[t + 2], d = in[t + 3], e = in[t + 4];
    if (t >= n) return;
    if (t > m) {
        a += tile[(t * 2) & 63];
    } else {
        tile[t & 63] = b;
        out[t % n] = a;
        if (c * b != m && e + e != m) {
            for (int i = t; i < 8; ++i) tile[(t + 8 + i * m) & 63] = c;
        }
    }
    out[(t * 2) % n] = c;
    for (int i = 1; i < 16; i += 32) {
        if (t == 3.0) e += b + (d + d) - (d + tile[(t + i * 2) & 63]);
    }
    out[t] = a;
    out[t + n] = e;
}

__global__ void added(const double *in, double *out, int n, int m) {
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    double a = in[t], b = in[t + 4];
    double d = a + a;
    double c = __shfl_xor_sync(~0u, a, 2);
    out[t + n] = c >= 1.0 ? a : d;
    out[t + n + m] = b;
}
