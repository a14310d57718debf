// A loop in a pipeline, as the compiler makes them of kernels whose names say that they are of CUTLASS.
__global__ void cutlass_products(const double *a, const double *b, double *c, int n) {
    __shared__ double sa[2][8][64], sb[2][8][64];
    int x = threadIdx.x & 15, y = threadIdx.x >> 4;
    double sums[4][4] = {};
    double fa[2][4], fb[2][4];
    int now = 0;
    for (int i = 0; i < 2; i++) {
        ((double *)sa[0])[threadIdx.x + 256 * i] = a[threadIdx.x + 256 * i];
        ((double *)sb[0])[threadIdx.x + 256 * i] = b[threadIdx.x + 256 * i];
    }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        fa[0][i] = sa[0][0][y * 4 + i];
        fb[0][i] = sb[0][0][x * 4 + i];
    }
#pragma unroll 1
    for (int t = 1; t < n; t++) {
        double ga[2], gb[2];
        for (int i = 0; i < 2; i++) {
            ga[i] = a[t * 512 + threadIdx.x + 256 * i];
            gb[i] = b[t * 512 + threadIdx.x + 256 * i];
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (k == 7) {
                for (int i = 0; i < 2; i++) {
                    ((double *)sa[now ^ 1])[threadIdx.x + 256 * i] = ga[i];
                    ((double *)sb[now ^ 1])[threadIdx.x + 256 * i] = gb[i];
                }
                __syncthreads();
                now ^= 1;
            }
            for (int i = 0; i < 4; i++) {
                fa[k + 1 & 1][i] = sa[now][k + 1 & 7][y * 4 + i];
                fb[k + 1 & 1][i] = sb[now][k + 1 & 7][x * 4 + i];
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sums[i][j] += fa[k & 1][i] * fb[k & 1][j];
        }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(y * 4 + i) * 64 + x * 4 + j] = sums[i][j];
}
