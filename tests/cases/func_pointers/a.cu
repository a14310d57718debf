//# Shows: function pointer table in global memory, indirect calls across TUs
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v -dump-callgraph a.cubin b.cubin
//# ExpectSymbol: table global object size=24 .nv.global.init
//# ExpectSection: .text._Z2fai
//# CompareText
typedef int (*fp)(int);
extern __device__ fp table[3];
__global__ void k1(int*p){ *p=table[*p](p[1]); }
