//# Shows: where a report of errors comes before an EXIT, what doubles of the block still take passes in the report, and behind the EXIT as far as that is too short; where the report goes again, all of it passes behind the EXIT
//# Archs: 100 103 120
//# Compile: a.cu
//# Link: out.cubin = -g a.cubin
//# Link: joined.cubin = -r -g a.cubin
//# Link: restored.cubin = joined.cubin
//# Link: again.cubin = -g joined.cubin
template <int W> __device__ double greatest(double v) {
    for (int o = W / 2; o; o >>= 1) {
        double w = __shfl_xor_sync(0xffffffff, v, o, W);
        v = fabs(v) >= fabs(w) ? v : w;
    }
    return v;
}
// The last comparison stands right before the EXIT, its predicate is for what comes behind.
template <int W, int N> __global__ void reduces(double *p, const double *q, char flip, long n) {
    double v[N];
    for (int r = 0; r < N; r++) v[r] = 0;
    long row = threadIdx.y + (long)blockIdx.x * blockDim.y;
    for (long c = threadIdx.x; c < n; c += W)
        for (int r = 0; r < N; r++) {
            double w = q[(row * N + r) * n + c];
            v[r] = fabs(v[r]) >= fabs(w) ? v[r] : w;
        }
    for (int r = 0; r < N; r++) v[r] = greatest<W>(v[r]);
    if (threadIdx.x != 0) return;
    for (int r = 0; r < N; r++) {
        if (row * N + r >= n) return;
        if (flip) {
            double w = p[row * N + r];
            v[r] = fabs(w) >= fabs(v[r]) ? w : v[r];
        }
        p[row * N + r] = v[r];
    }
}
template __global__ void reduces<16, 8>(double *, const double *, char, long);
template __global__ void reduces<4, 2>(double *, const double *, char, long);
template __global__ void reduces<2, 2>(double *, const double *, char, long);
// The same with sums, and with what is no double.
__global__ void sums(double *p, int n) {
    double v = p[threadIdx.x], w = v * n;
    bool out = (threadIdx.x & 3) != 0;
    v += __shfl_xor_sync(0xffffffff, v, 1, 2);
    w += v;
    if (out) return;
    p[n] = w * __shfl_xor_sync(1, v, 1, 2);
}
__global__ void places(int *p, int *q, int n) {
    int i = threadIdx.x, at = i * n + 7;
    if (i > n) return;
    q[at] = p[at + i] * 3;
    long far = (long)at * n;
    if (at & 1) return;
    p[far * 5] = q[far] + 1;
}
