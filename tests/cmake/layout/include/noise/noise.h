#pragma once

#ifdef __CUDACC__
__device__ unsigned noise_hash(unsigned value);
__device__ unsigned noise_at(unsigned index);
#endif

/// Fills an array of the device, and says what the runtime says.
int noise_fill(unsigned *values, int count);
