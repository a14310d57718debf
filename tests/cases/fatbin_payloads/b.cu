__device__ int step(int x) { return x + 3; }
