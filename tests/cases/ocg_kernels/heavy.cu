// Takes more registers than its caller knows.
extern "C" __device__ __noinline__ float heavy(const float *p)
{
    float v[48];
    for (int i = 0; i < 48; i++)
        v[i] = p[i * i];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 48; i++)
        for (int j = 0; j < 48; j++)
            sum += v[i] * v[(i + j) % 48];
    return sum;
}
