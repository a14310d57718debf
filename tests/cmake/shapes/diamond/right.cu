__device__ float bottom(float value);

__device__ float right(float value) { return bottom(value) - 1; }
