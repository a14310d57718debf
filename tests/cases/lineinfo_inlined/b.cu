template <class T> __device__ inline T twice(T x) { return x + x * x; }
static __device__ __forceinline__ float scaled(float x) { return twice(x) * 0.5f; }
__device__ float outer(float *p) { return scaled(p[0]) + scaled(p[1]); }
__global__ void second(float *p) { p[0] = scaled(p[1]) + outer(p); }
