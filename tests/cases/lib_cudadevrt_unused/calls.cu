extern __device__ int f(int); __global__ void calls(int *p) { *p = f(*p); }
