//# Shows: loops in a pipeline over products of matrices of doubles, of whose registers the Mercury code says more than takes the room of one instruction
//# Archs: 90 100 103 120
//# Compile: a.cu
//# Link[90 100 103]: out.cubin = a.cubin
//# Link: debugged.cubin = a.cubin -g
//# Link: joined.cubin = a.cubin -r
//# Link: joined-debugged.cubin = a.cubin -r -g

// The compiler makes such loops of kernels whose names say that they are of CUTLASS.
__global__ void cutlass_products(double *c, int n) {
    extern __shared__ double s[];
    double sums[8][2] = {}, a[2][4], b[2][2];
    int lane = threadIdx.x;
    for (int i = 0; i < 4; i++) a[0][i] = s[lane + i * 32];
    for (int i = 0; i < 2; i++) b[0][i] = s[1024 + lane + i * 32];
#pragma unroll 1
    for (int t = 0; t < n; t++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int next = k + 1 & 3;
            for (int i = 0; i < 4; i++) a[next & 1][i] = s[lane + i * 32 + next * 128];
            for (int i = 0; i < 2; i++) b[next & 1][i] = s[1024 + lane + i * 32 + next * 64];
            for (int i = 0; i < 8; i++)
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                             : "+d"(sums[i][0]), "+d"(sums[i][1])
                             : "d"(a[k & 1][i / 2]), "d"(b[k & 1][i % 2]));
        }
    }
    for (int i = 0; i < 8; i++) {
        c[(i * 32 + lane) * 2] = sums[i][0];
        c[(i * 32 + lane) * 2 + 1] = sums[i][1];
    }
}
