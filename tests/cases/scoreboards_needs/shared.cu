// Uniform registers are read at once, those of threads are not.
__global__ void uniform(const int *in, int *out, int n)
{
    __shared__ int all[32];
    all[0] = in[threadIdx.x];
    if (n > 7)
        all[1] = n;
    for (int k = 0; k < n; k++)
        all[k & 31] = n;
    if (threadIdx.x == n)
        all[n & 31] = in[n];
    __syncthreads();
    out[threadIdx.x] = all[threadIdx.x & 31];
}
