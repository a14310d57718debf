//# Shows: link with only device functions and variables, no kernel at all
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# ExpectNoSymbol: _Z1fi
//# ExpectSymbol: v global object
__device__ int v=3; __device__ int f(int x){return x+v;}
