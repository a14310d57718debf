__device__ float bottom(float value);

__device__ float left(float value) { return bottom(value) + 1; }
