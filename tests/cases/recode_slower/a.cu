//# Shows: a report of errors before doubles that are slow: what their compiler let start at once stays known
//# Archs: 100
//# Compile: a.cu
//# Link: debug.cubin = -arch=sm_103 -g a.cubin
#include <math.h>

// A branch leaves right behind a conversion where the angle is not finite, and waits for that only where
// doubles are slow.
__global__ void angles(const double* in, const float* weights, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double theta = in[i] * 0.01745329251;
    float c = (float)cos(theta) * 0.5f;
    float s = (float)sin(theta) * 0.5f;
    out[2 * i] = c * weights[i];
    out[2 * i + 1] = s + weights[i];
}
