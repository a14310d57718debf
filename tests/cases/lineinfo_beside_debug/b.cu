__device__ int f(int *p) { return p[1] + 1; }
__global__ void b(int *p) { p[0] = f(p); }
