__device__ int wait_one(int x) {
    __syncthreads();
    return x + 1;
}
__device__ int wait_five(int x) {
    asm volatile("bar.sync 4, 64;");
    return wait_one(x) * 5;
}
