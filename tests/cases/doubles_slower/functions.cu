// Functions and conversions come to their end in one order, but powers of two in their own.
__global__ void functions(float *p, int *q, float scale) {
    float x = p[threadIdx.x];
    float turns = x * 0.63661974668502807617f;
    float whole = rintf(turns);
    int quarter = __float2int_rn(turns);
    float rest = fmaf(whole, -1.5703125f, x);
    float power;
    asm("ex2.approx.f32 %0, %1;" : "=f"(power) : "f"(rest * scale));
    p[threadIdx.x] = power * power * rest;
    q[threadIdx.x] = quarter & 3;
}

__global__ void reciprocals(float *p, float scale) {
    float x = p[threadIdx.x], y = p[threadIdx.x + 32];
    float first = x - y, power;
    asm("rcp.approx.f32 %0, %1;" : "=f"(x) : "f"(x));
    asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(y + first * scale));
    asm("ex2.approx.f32 %0, %1;" : "=f"(power) : "f"(first));
    p[threadIdx.x] = power * x + y;
}
