// The same template in two files is linked once; static functions of one name stay apart.
#include "common.h"

__device__ int other(int value);

static __device__ __noinline__ int offset(int value) { return value + 1; }

extern "C" __global__ void test(int *out) {
    int i = threadIdx.x;
    out[i] = scaled<3>(offset(i)) + 1000 * other(i);
}
