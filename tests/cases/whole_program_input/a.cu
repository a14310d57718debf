//# Shows: non-rdc (whole program, ET_EXEC) cubins as inputs: ignored without a message
//# Compile: a.cu
//# Compile: w.cu -rdc=false
//# Link: out.cubin = w.cubin
//# Link: out2.cubin = a.cubin w.cubin
//# Link: out3.cubin = a.cubin
//# ExpectSameAs: out2.cubin
__global__ void k(int*p){ p[threadIdx.x]=blockIdx.x; }
