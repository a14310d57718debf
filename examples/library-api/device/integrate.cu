// Adds up the values of a function that is defined elsewhere, at the middle of each of many small steps.
__device__ double function(double x);

extern "C" __global__ void integrate(double from, double step, unsigned steps, double *sums) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned threads = gridDim.x * blockDim.x;
    double sum = 0;
    for (unsigned n = thread; n < steps; n += threads) {
        sum += function(from + (n + 0.5) * step);
    }
    sums[thread] = sum * step;
}
