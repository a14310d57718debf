__device__ float function(float x, float y) { return x * y + 1.5f + sqrtf(y) / x; }
