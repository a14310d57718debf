#include "window.h"

extern "C" __global__ void smooth(float *smoothed, const float *values, int count)
{
    int place = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (place < count)
        smoothed[place] = window(values, count, place);
}
