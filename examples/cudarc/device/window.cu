#include "window.h"

__constant__ float weights[radius + 1];

__device__ float window(const float *values, int count, int center)
{
    float sum = 0.0f;
    for (int offset = -radius; offset <= radius; ++offset) {
        int place = min(max(center + offset, 0), count - 1);
        sum += weights[abs(offset)] * values[place];
    }
    return sum;
}
