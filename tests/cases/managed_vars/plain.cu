__device__ int m = 3;
