extern __device__ int m;
__global__ void k3(int *p) { *p = m; }
