__device__ __noinline__ double next(double value, double factor)
{
    return value * factor + 1;
}
