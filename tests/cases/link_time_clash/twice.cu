__device__ int factor = 2;

__device__ int twice(int x) { return factor * x; }
