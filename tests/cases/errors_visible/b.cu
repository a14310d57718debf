__device__ int other(int x) { int y = x * x; return y; }
