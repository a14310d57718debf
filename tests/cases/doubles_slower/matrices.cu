// Products of matrices of doubles, between which idle instructions stand already.
__device__ void multiply(double &c0, double &c1, double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                 : "+d"(c0), "+d"(c1)
                 : "d"(a), "d"(b));
}
__global__ void products(double *p, double x, double y) {
    double a = 0, b = 0, c = p[0], d = p[1];
    multiply(a, b, x, y);
    multiply(c, d, y, x);
    multiply(a, b, c, d);
    p[threadIdx.x] = a + b;
    p[threadIdx.x + 32] = c;
}

// Those of integers run on the same part there.
__device__ void multiply(int (&c)[4], int a, int b, int d) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a), "r"(b), "r"(d));
}
__global__ void integers(int *p, double *q) {
    int first[4], second[4];
    for (int i = 0; i < 4; i++) first[i] = p[i], second[i] = p[i + 4];
    multiply(first, p[9], p[10], p[11]);
    multiply(second, p[12], p[13], p[14]);
    q[threadIdx.x] += 0.5;
    multiply(first, p[15], p[16], p[17]);
    for (int i = 0; i < 4; i++) p[i + 32] = first[i] + second[i];
    if (p[77]) multiply(second, p[78], p[79], p[80]);
    p[88] = second[threadIdx.x & 1];
}
