__device__ int heavy(const int *p)
{
    int v[40], sum = 0;
#pragma unroll
    for (int i = 0; i < 40; ++i) v[i] = p[i * p[41]];
#pragma unroll
    for (int i = 0; i < 40; ++i) sum = sum * v[39 - i] + v[i];
    return sum;
}
