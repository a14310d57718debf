//# Shows: -preserve-relocs (.nv.resolvedrela)
//# Compile: a.cu
//# Compile: b.cu
//# Compile: pa.ptx
//# Compile: pb.ptx
//# Link: out.cubin = -preserve-relocs a.cubin b.cubin
//# ExpectSection: .nv.resolvedrela.text._Z2k1Pfi
//# ExpectText[90+]: warning : Option '--preserve-relocs' is not fully implemented for gpu archtecture 'sm_{sm}' and may not work as expected
//# CompareText
//# Link[75-90]: debug.cubin = -preserve-relocs -g a.cubin b.cubin
//# Link: out2.cubin = -preserve-relocs pa.cubin pb.cubin
//# ExpectText[90+]: warning : Option '--preserve-relocs' is not fully implemented for gpu archtecture 'sm_{sm}' and may not work as expected
//# CompareText
__device__ int g_count = 7;
__device__ int g_zero[5];
__constant__ float coef[4] = {1,2,3,4};
extern __device__ float helper(float x, int n);
__global__ void k1(float*p,int n){ __shared__ float s[64]; int i=threadIdx.x; s[i]=p[i]; __syncthreads(); p[i]=helper(s[63-i],n)+coef[n&3]+g_count+g_zero[n]; }
