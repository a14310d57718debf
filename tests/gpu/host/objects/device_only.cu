// No kernel and no host code.
extern __constant__ int factor;

__device__ int scaled(int x) { return x * factor; }
