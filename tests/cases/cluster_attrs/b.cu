__device__ int callee(int *p, int x) {
    atomicAdd_system(p, x);
    return __shfl_xor_sync(0xffffffff, x, 1) + __any_sync(0xffffffff, x);
}
__global__ void other(int *p) { *p = callee(p, 5); }
