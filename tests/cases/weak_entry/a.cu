//# Shows: the same template kernel in two files, with shared memory and constants
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# ExpectSymbol: _Z7genericIiEvPT_ func
//# Link: swapped.cubin = b.cubin a.cubin
#include "kernel.h"
template __global__ void generic<int>(int *);
template __global__ void generic<float>(float *);
