extern __device__ int g(int);
__device__ int f(int x) { return g(x) + 1; }
