__device__ double function(double x) {
    return cos(x);
}
