extern __device__ int called(int x);
extern "C" __global__ void caller(int *p) { __shared__ int own[10]; own[threadIdx.x] = *p; __syncthreads(); *p = called(own[3]); }
extern "C" __global__ void plain(int *p) { *p = called(2); }
