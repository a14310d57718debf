//# Shows: -v tells of the kernels of a link, and not of those that it launches and no file defines
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b.cubin
//# CompareText
//# Link: out2.cubin = -v -v a.cubin b.cubin
//# CompareText
//# ExpectSameAs: out.cubin
//# Compile: launches.cu
//# Link: joined.cubin = -v -r launches.cubin
//# CompareText
//# Link: undefined.cubin = -v launches.cubin
//# ExpectExit: 255
//# ExpectNoText: Function properties for '_Z9elsewherePi'
//# CompareText
__device__ int g_count = 7;
__device__ int g_zero[5];
__constant__ float coef[4] = {1,2,3,4};
extern __device__ float helper(float x, int n);
__global__ void k1(float*p,int n){ __shared__ float s[64]; int i=threadIdx.x; s[i]=p[i]; __syncthreads(); p[i]=helper(s[63-i],n)+coef[n&3]+g_count+g_zero[n]; }
