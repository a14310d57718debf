__shared__ int values[9];
__device__ int fixed(int x) { values[x] = x; return values[x + 1]; }
__global__ void second(int *p) { *p = fixed(*p); }
