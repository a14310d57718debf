extern __device__ float outer(float *p);
__device__ inline double mixed(double x) { return x * 3 + 1; }
__global__ void third(double *p, float *q) { p[0] = mixed(p[1]) + outer(q); }
__device__ int unused(int x) { return (int)mixed(x); }
