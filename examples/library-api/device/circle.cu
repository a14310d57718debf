__device__ double function(double x) {
    return 4 / (1 + x * x);
}
