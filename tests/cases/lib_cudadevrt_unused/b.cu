__device__ int f(int x) { return x + 1; } __global__ void b(int *p) { *p = f(2); }
