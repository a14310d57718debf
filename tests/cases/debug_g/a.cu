//# Shows: -G debug objects, with and without -g at link time, -suppress-debug-info, mixed with non-debug
//# Compile: ag.cubin = a.cu -G
//# Compile: bg.cubin = b.cu -G
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -g ag.cubin bg.cubin
//# ExpectSection: .debug_info
//# Link: out2.cubin = ag.cubin bg.cubin
//# Link: out3.cubin = -g -suppress-debug-info ag.cubin bg.cubin
//# ExpectSection: .debug_info
//# Link: out4.cubin = -g ag.cubin b.cubin
//# Link: out5.cubin = ag.cubin b.cubin
//# Link: out6.cubin = b.cubin ag.cubin
//# Link: out7.cubin = -g a.cubin b.cubin
//# Link: out8.cubin = -g a.cubin bg.cubin
__device__ int g_count = 7;
__device__ int g_zero[5];
__constant__ float coef[4] = {1,2,3,4};
extern __device__ float helper(float x, int n);
__global__ void k1(float*p,int n){ __shared__ float s[64]; int i=threadIdx.x; s[i]=p[i]; __syncthreads(); p[i]=helper(s[63-i],n)+coef[n&3]+g_count+g_zero[n]; }
