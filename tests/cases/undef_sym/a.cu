//# Shows: undefined device function and variable (error)
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_Z1fi' in 'a.cubin'
//# ExpectText: error   : Undefined reference to 'v' in 'a.cubin'
//# CompareText
extern __device__ int v; extern __device__ int f(int x); __global__ void k1(int*p){*p=f(*p)+v;}
