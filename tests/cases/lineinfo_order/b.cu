__device__ __noinline__ int dead(int x) {
    return x / 3;
}
__global__ void second(int *p) {
    p[2] = p[3] + 1;
}
__device__ __noinline__ int late(int x) {
    return x * x +
        x / 7;
}
