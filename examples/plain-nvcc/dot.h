#pragma once

// The sum of a value over all threads of a block of 256.
__device__ double block_sum(double value);
