extern __constant__ short c3[5];
__constant__ char d1[3] = {1, 2, 3};
__constant__ long long d2 = 77;
__constant__ __align__(32) int d3[5];
__global__ void kb(int *p) { *p = d1[p[0] & 1] + (int)d2 + d3[p[1] & 3] + c3[p[2] & 3]; }
