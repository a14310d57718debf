//# Shows: relocatable links of -G and -lineinfo objects, mixed and alone, and of one without .debug_abbrev
//# Compile: ag.cubin = a.cu -G
//# Compile: bg.cubin = b.cu -G
//# Compile: al.cubin = a.cu -lineinfo
//# Compile: bl.cubin = b.cu -lineinfo
//# Compile: a.cu
//# Link: mixed.cubin = -r a.cubin bg.cubin
//# Link: mixed-swapped.cubin = -r bg.cubin a.cubin
//# Link: debugged.cubin = -r -g a.cubin bl.cubin
//# Link: both.cubin = -r ag.cubin bg.cubin
//# Link: swapped.cubin = -r bg.cubin ag.cubin
//# Link: one.cubin = -r bg.cubin
//# ExpectSymbol: g_count global undefined
//# Link: lines.cubin = -r al.cubin bl.cubin
//# Link: one-line.cubin = -r bl.cubin
//# Link: again.cubin = both.cubin
//# Link: again-g.cubin = -g both.cubin
//# Link: again-lines.cubin = lines.cubin
//# Link: suppressed.cubin = -r -g -suppress-debug-info ag.cubin bg.cubin
__device__ int g_count = 7;
__device__ int g_zero[5];
__constant__ float coef[4] = {1,2,3,4};
extern __device__ float helper(float x, int n);
__global__ void k1(float*p,int n){ __shared__ float s[64]; int i=threadIdx.x; s[i]=p[i]; __syncthreads(); p[i]=helper(s[63-i],n)+coef[n&3]+g_count+g_zero[n]; }
