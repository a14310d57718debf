//# Shows: a kernel calls a function of another file and shares a variable with it
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# ExpectSymbol: _Z2k1Pfi global func .text._Z2k1Pfi
//# ExpectSymbol: _Z6helperfi global func .text._Z6helperfi
//# ExpectSymbol: g_count global object size=4 .nv.global.init
//# ExpectSymbol: g_zero global object size=20 .nv.global
__device__ int g_count = 7;
__device__ int g_zero[5];
__constant__ float coef[4] = {1,2,3,4};
extern __device__ float helper(float x, int n);
__global__ void k1(float*p,int n){ __shared__ float s[64]; int i=threadIdx.x; s[i]=p[i]; __syncthreads(); p[i]=helper(s[63-i],n)+coef[n&3]+g_count+g_zero[n]; }
