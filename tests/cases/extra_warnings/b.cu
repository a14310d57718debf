__device__ int called(int x)
{
    return x + 7;
}

__device__ int (*chosen)(int) = called;

__device__ float uncalled(int x, double y)
{
    return x * y;
}

__device__ float by_name(float x, float y, int n)
{
    return x * y + n;
}
