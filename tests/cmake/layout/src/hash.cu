#include "noise/noise.h"

__device__ unsigned noise_hash(unsigned value) { return (value ^ (value >> 16)) * 0x45d9f3bu; }
