//# Shows: -lineinfo objects
//# Compile: al.cubin = a.cu -lineinfo
//# Compile: bl.cubin = b.cu -lineinfo
//# Link: out.cubin = al.cubin bl.cubin
//# ExpectSection: .debug_line
//# Compile: a.cu
//# Compile: b.cu
//# Link: out2.cubin = al.cubin b.cubin
//# Link: out3.cubin = a.cubin bl.cubin
__device__ int g_count = 7;
__device__ int g_zero[5];
__constant__ float coef[4] = {1,2,3,4};
extern __device__ float helper(float x, int n);
__global__ void k1(float*p,int n){ __shared__ float s[64]; int i=threadIdx.x; s[i]=p[i]; __syncthreads(); p[i]=helper(s[63-i],n)+coef[n&3]+g_count+g_zero[n]; }
