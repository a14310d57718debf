__device__ int remote = 8;
__device__ int unread;
extern __constant__ int bound;
__global__ void third(int *p) { *p = bound + remote; }
