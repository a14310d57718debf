// The sine of large numbers calls a function that the compiler puts into each file, with constants of its own.
__device__ double other(double angle);

extern "C" __global__ void test(int *out) {
    int i = threadIdx.x;
    double angle = 1e6 * (i + 1);
    out[i] = (int)rint(1e6 * sin(angle)) + (int)rint(1e6 * other(angle));
}
