__device__ int factor = 3;

__device__ int twice(int x) { return x + x + factor; }
