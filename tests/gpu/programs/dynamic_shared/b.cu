extern __shared__ int chosen[];

__device__ void store(int value) { chosen[threadIdx.x] = value; }
