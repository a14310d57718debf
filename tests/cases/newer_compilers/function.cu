__device__ int function(int x) { return x + 1; }
