__device__ int scale = 2;

__device__ int twice(int value) { return scale * value; }
