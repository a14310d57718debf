//# Shows: order and offsets of variables of many sizes and alignments, with and without initial values
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b.cubin
//# CompareText
//# Link: swapped.cubin = b.cubin a.cubin
__device__ char a1 = 1;
__device__ double a2 = 2;
__device__ short a3[3] = {1, 2, 3};
__device__ char a4;
__device__ float4 a5;
__device__ __align__(256) int a6[3];
static __device__ char a7[5] = "four";
__global__ void ka(int *p) { *p = a1 + (int)a2 + a3[p[1]] + a4 + (int)a5.x + a6[p[2]] + a7[p[3]]; }
