extern __constant__ double table[3];
__device__ int count = 3;
__device__ int *where[2] = {&count, &count};
__device__ __noinline__ double far(double x) { return x * 9.8765432101 + count; }
__device__ __noinline__ double unused(double x) { return x * 5.6789012345 + table[count & 1]; }
