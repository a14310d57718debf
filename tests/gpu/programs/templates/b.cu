#include "common.h"

static __device__ __noinline__ int offset(int value) { return value + 2; }

__device__ int other(int value) { return scaled<3>(offset(value)) + scaled<5>(value); }
