//# Shows: values of an inline function, which the compiler numbers through each file, are taken from the first file whose value has the number
//# Compile: first.cu
//# Compile: second.cu
//# Link: image.cubin = first.cubin second.cubin
//# ExpectSymbol: _Z6choosei$4 weak object
//# Link: debug.cubin = first.cubin second.cubin -g
//# Link: again.cubin = second.cubin first.cubin
//# Link: joined.cubin = first.cubin second.cubin -r
//# Link: finished.cubin = joined.cubin
//# Link: filtered.cubin = first.cubin second.cubin -kernels-used=last
#include "values.h"
__device__ int counter;
__global__ void first(unsigned *out, int e)
{
    Values v = choose(e);
    Pointer p = point(e);
    out[0] = v.a + p.k;
    out[1] = v.b + (p.p != nullptr);
    out[2] = v.c;
}
