//# Shows: one TU, one kernel, no calls, no globals
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# ExpectSymbol: _Z1kPi global func
__global__ void k(int*p){ p[threadIdx.x]=blockIdx.x; }
