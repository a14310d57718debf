//# Shows: kernel and function addresses taken in device code; function pointers passed to other TU
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v -dump-callgraph a.cubin b.cubin
//# CompareText
typedef int(*fp)(int); extern __device__ int apply(fp,int); __device__ int sq(int x){return x*x;} static __device__ int cu(int x){return x*x*x;}
__global__ void k1(int*p){ p[0]=apply(sq,p[1])+apply(cu,p[2]); }
