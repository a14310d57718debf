__noinline__ __device__ int f(int n)
{
    return n < 2 ? n : f(n - 1) * 3 + f(n - 2);
}

__global__ void recursive(int *p)
{
    *p = f(*p);
}
