//# Shows: the same strong variable and function defined in two TUs (error)
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# ExpectExit: 1
//# ExpectText: error   : Multiple definition of '_Z1fi' in 'b.cubin', first defined in 'a.cubin'
//# ExpectText: error   : Multiple definition of 'v' in 'b.cubin', first defined in 'a.cubin'
//# ExpectText: fatal   : merge_elf failed
//# CompareText
__device__ int v=1; __device__ int f(int x){return x+v;} __global__ void k1(int*p){*p=f(*p);}
