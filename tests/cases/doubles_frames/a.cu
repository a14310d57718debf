//# Shows: code for sm_100 in a program for sm_103: what is said of a frame right before a double holds before the NOPs that come in front of that
//# Archs: 100
//# Compile: a.cubin = a.cu
//# Compile: b.cubin = b.cu
//# Link: fast.cubin = a.cubin b.cubin
//# Link: slow.cubin = -arch=sm_103 a.cubin b.cubin
//# Link: debugged.cubin = -arch=sm_103 -g a.cubin b.cubin
//# Link: joined.cubin = -arch=sm_103 -r a.cubin b.cubin
//# Link: again.cubin = -arch=sm_103 joined.cubin
__device__ double next(double value, double factor);

// Brings back registers that it saved between its last doubles.
__device__ __noinline__ double ahead(double a, double b)
{
    double c = next(a, b);
    double d = next(b, c);
    return fma(c, d, a) + d * b;
}

__global__ void kernel(double *values)
{
    values[0] = ahead(values[1], values[2]);
}
