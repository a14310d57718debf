// The same function further down.
__device__ int one;
#include "copied.h"
__global__ void b(const int *p, int *q) { q[0] = copied<1>(p, q) + one; }
