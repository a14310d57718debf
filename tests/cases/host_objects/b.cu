extern __device__ int counter;
__device__ int helper(int x) { return x + counter; }
__global__ void also_not_launched(int *p) { *p = helper(3); }
template <class T> __global__ void generic(T *p) { *p += 1; }
void host(float *p) { generic<<<1, 1>>>(p); }
