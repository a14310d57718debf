extern __device__ int g(int);
__device__ int f(int x)
{
    int a[40];
    for (int i = 0; i < 40; ++i)
        a[i] = g(x + i);
    return a[x & 7];
}
