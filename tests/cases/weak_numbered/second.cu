struct Others { unsigned a, b, c; };
__device__ __forceinline__ Others other(int e)
{
    if (e) return {1, 2, 3};
    return {7, 8, 9};
}
#include "values.h"
__global__ void last(unsigned *out, int e)
{
    Values v = choose(e);
    Others w = other(e);
    Pointer p = point(e);
    out[0] = v.a + w.a + p.k;
    out[1] = v.b + w.b + (p.p != nullptr);
    out[2] = v.c + w.c;
}
