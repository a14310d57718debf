#include "weakly.h"
__device__ __noinline__ int inner(int x) { return x * 7; }
__device__ int other(int x) { return inner(x) + inner(x + 1); }
__global__ void too(int *p) { p[0] = other(p[1]) + weakly<3>(p[4]); }
