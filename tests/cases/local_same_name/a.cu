//# Shows: file-local (static) functions and variables with the same name in two TUs
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# Link: out2.cubin = -dump-callgraph b.cubin a.cubin
//# CompareText
static __device__ int sv=11; static __device__ __noinline__ int sf(int x){ return x*sv; }
extern __device__ int other(int);
__global__ void k1(int*p){ *p=sf(*p)+other(*p); sv++; }
