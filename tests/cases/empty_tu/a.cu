//# Shows: one TU without any device code plus one with a kernel
//# Compile: a.cu
//# Compile: e.cu
//# Link: out.cubin = e.cubin a.cubin
//# ExpectSymbol: _Z1kPi global func
//# Link: oute.cubin = e.cubin
__global__ void k(int*p){ p[threadIdx.x]=blockIdx.x; }
