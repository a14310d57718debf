extern __shared__ int dynamic[];
extern __shared__ char unused[];

__global__ void nothing_else(int *p)
{
    dynamic[threadIdx.x] = p[0];
    __syncthreads();
    p[1] = dynamic[threadIdx.x ^ 1];
}

// No kernel reaches it.
__device__ __noinline__ int lonely(int i)
{
    return dynamic[i] + unused[i];
}
