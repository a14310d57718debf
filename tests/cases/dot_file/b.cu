#include <stdio.h>

static __noinline__ __device__ int local(int x)
{
    printf("%d\n", x);
    return x * 5;
}

__device__ int helper(int x)
{
    return local(x) + 2;
}

__device__ int other(int x)
{
    return x + 7;
}

__device__ int (*chosen)(int) = other;
