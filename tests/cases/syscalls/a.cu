//# Shows: device-side printf, malloc/free, assert
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v -dump-callgraph a.cubin b.cubin
//# CompareText
#include <cstdio>
#include <cassert>
extern __device__ void log2(int);
__global__ void k1(int*p){ printf("hello %d\n",*p); assert(*p>3); int*q=(int*)malloc(16); q[0]=*p; log2(q[0]); free(q); }
