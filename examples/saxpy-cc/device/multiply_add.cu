__device__ float multiply_add(float a, float x, float y) { return fmaf(a, x, y); }
