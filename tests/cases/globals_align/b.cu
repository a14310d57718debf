extern __device__ short a3[3];
__device__ char b1;
__device__ long long b2 = 5;
__device__ char b3[7] = {1};
__device__ __align__(128) char b4[1] = {9};
static __device__ short b5;
__global__ void kb(int *p) { *p = b1 + (int)b2 + b3[p[1]] + b4[0] + b5++ + a3[2]; }
