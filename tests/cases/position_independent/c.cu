#include "weakly.h"
__device__ __noinline__ int before(int x) { return x * 9; }
__device__ __noinline__ int behind(int x) { return x * 19; }
__global__ void third(int *p) { p[0] = weakly<3>(p[1]) + before(p[4]) + behind(p[6]); }
__global__ void other_third(int *p) { p[0] = other(p[1]); }
