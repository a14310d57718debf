__device__ int other(int x) { return x + 1; }
