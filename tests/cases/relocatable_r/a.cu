//# Shows: -r relocatable link, then final link of the result
//# Compile: a.cu
//# Compile: b.cu
//# Compile: c.cu
//# Compile: d.cu
//# Link: r.cubin = -r a.cubin b.cubin
//# ExpectSymbol: _Z6helperfi global func
//# ExpectNoSection: .nv.rel.action
//# Link: out.cubin = r.cubin
//# Link: r2.cubin = -r a.cubin c.cubin
//# Link: out2.cubin = r2.cubin b.cubin d.cubin
//# Link: r3.cubin = -r a.cubin
//# Link: r4.cubin = -r r3.cubin b.cubin
__device__ int g_count = 7;
__device__ int g_zero[5];
__constant__ float coef[4] = {1,2,3,4};
extern __device__ float helper(float x, int n);
__global__ void k1(float*p,int n){ __shared__ float s[64]; int i=threadIdx.x; s[i]=p[i]; __syncthreads(); p[i]=helper(s[63-i],n)+coef[n&3]+g_count+g_zero[n]; }
