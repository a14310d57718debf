__global__ void whole(int *out) { *out = threadIdx.x; }
