// So many doubles that more than sixteen thousand scoreboards are taken.
template <int COUNT> __device__ __forceinline__ void several(double &x, double &y, const double *a) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        x = __fma_rn(x, y, 3.0);
        y = __dadd_rn(x, y);
    }
    x = __dmul_rn(x, *a);
}

__global__ void large(double *a) {
    double x = a[threadIdx.x], y = a[threadIdx.x + 32];
#pragma unroll
    for (int i = 0; i < 84; i++) several<100>(x, y, a + i);
    a[threadIdx.x] = x + y;
}
