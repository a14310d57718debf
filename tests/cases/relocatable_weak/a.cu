//# Shows: weak functions, kernels and variables in relocatable links, and their replacements in a later link
//# Compile: a.cu
//# Compile: b.cu
//# Compile: s.ptx
//# Link: r.cubin = -r a.cubin b.cubin
//# ExpectSymbol: _Z7genericIiEvPT_ func
//# Link: swapped.cubin = -r b.cubin a.cubin
//# Link: out.cubin = r.cubin
//# Link: twice.cubin = r.cubin b.cubin
//# ExpectExit: any
//# Link: s.r.cubin = -r a.cubin s.cubin
//# ExpectSymbol: _Z5twiceIiET_S0_ global func
//# Link: strong.cubin = s.cubin r.cubin
//# ExpectExit: any
//# Link: weak-first.cubin = r.cubin s.cubin
//# ExpectExit: any
//# Link: left-out.cubin = -preserve-relocs -kernels-used=nothing r.cubin
#include "kernel.h"
template __global__ void generic<int>(int *);
template __global__ void generic<float>(float *);
