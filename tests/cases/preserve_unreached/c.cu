extern __shared__ int dynamic[];
__device__ int fixed(int);
__global__ void first(int *p) { dynamic[3] = fixed(*p); }
