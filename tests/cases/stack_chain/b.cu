extern __device__ int leaf(int, int);
__device__ int middle(int x) {
    int a[16];
    for (int i = 0; i < 16; i++) a[i] = leaf(x, i);
    return a[x & 15];
}
__global__ void from_the_middle(int *p) { *p = middle(3); }
