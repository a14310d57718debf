//# Shows: debug information keeps the addresses of a weak kernel that another copy replaces or wins over, frames do not
//# Archs: 75 80 90
//# Compile: a.cu -G
//# Compile: b.cu
//# Link: replaced.cubin = a.cubin b.cubin
//# Link: lost.cubin = b.cubin a.cubin
//# Link: debugged.cubin = -g a.cubin b.cubin
template <class T> __global__ void generic(T *p)
{
    __shared__ T buffer[16];
    buffer[threadIdx.x & 15] = p[1];
    __syncthreads();
    p[0] = buffer[3];
}
template __global__ void generic<int>(int *);
