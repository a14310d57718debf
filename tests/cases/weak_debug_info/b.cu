template <class T> __global__ void generic(T *p)
{
    __shared__ T buffer[16];
    buffer[threadIdx.x & 15] = p[1];
    __syncthreads();
    p[0] = buffer[3];
}
template __global__ void generic<int>(int *);
