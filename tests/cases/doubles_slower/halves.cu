// Products of matrices of halves take no scoreboard, and what uses one waits as long as before.
__global__ void halves(int *p, double *q, int n) {
    float c[4];
    int x = p[0];
    q[threadIdx.x] += 0.5;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++) c[k] = __int_as_float(x);
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(x), "r"(x), "r"(x));
        x = __float_as_int(c[1]);
        n = x;
        q[i] *= 1.25;
    }
    p[threadIdx.x] = x;
}
