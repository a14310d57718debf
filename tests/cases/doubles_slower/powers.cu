// A power of two is there after 14 cycles, and others are after 18: blocks end in between.
template <int COUNT, bool MORE> __global__ void powers(float *p, int n) {
    float x = p[threadIdx.x], y;
    int sum = __float_as_int(x);
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        asm volatile("mad.lo.s32 %0, %0, %0, %1;" : "+r"(sum) : "r"(n));
    }
    if (MORE) {
        asm volatile("lop3.b32 %0, %0, %1, %1, 0x1e;" : "+r"(sum) : "r"(n));
    }
    if (sum > 7) {
        p[threadIdx.x + 64] = y;
        __threadfence_block();
        p[threadIdx.x + 128] = y * y;
    }
    p[threadIdx.x] = y;
}

template __global__ void powers<0, false>(float *, int);
template __global__ void powers<0, true>(float *, int);
template __global__ void powers<1, false>(float *, int);
template __global__ void powers<1, true>(float *, int);
template __global__ void powers<2, false>(float *, int);
template __global__ void powers<2, true>(float *, int);
