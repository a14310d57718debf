extern __shared__ int late[];
__device__ int called(int x) { late[threadIdx.x] = x; __syncthreads(); return late[3]; }
