extern __shared__ int late[];
extern "C" __global__ void fixed(int *p) { __shared__ int own[10]; own[threadIdx.x] = *p; __syncthreads(); *p = own[3]; }
extern "C" __global__ void aligned(int *p) { __shared__ __align__(32) char own[8]; own[threadIdx.x] = *p; __syncthreads(); *p = own[3]; }
extern "C" __global__ void dynamic(int *p) { late[threadIdx.x] = *p; __syncthreads(); *p = late[3]; }
extern "C" __global__ void none(int *p) { *p = 1; }
