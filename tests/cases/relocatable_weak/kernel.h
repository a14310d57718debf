static __constant__ int offsets[4] = {1, 2, 3, 4};
template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
template <class T> __global__ void generic(T *p) {
    __shared__ T buffer[32];
    buffer[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[0] = twice(buffer[3]) + offsets[(int)p[1] & 3];
}
