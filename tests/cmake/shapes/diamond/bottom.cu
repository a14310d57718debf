__device__ float bottom(float value) { return value * value; }
