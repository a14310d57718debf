extern "C" __device__ float heavy(const float *p);
__global__ void caller(float *p) { p[0] = heavy(p); }
