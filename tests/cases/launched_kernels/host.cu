__device__ __noinline__ int twice(int x) { return 2 * x; }
__global__ void child(int *p) { *p = twice(*p); }
__global__ void middle(int *p) { child<<<1, 1>>>(p); }
__global__ void parent(int *p) { middle<<<1, 2>>>(p); }
__global__ void lone(int *p) { *p = 3; }
__global__ void unused(int *p) { *p = 4; }
int start() { parent<<<1, 1>>>(nullptr); lone<<<1, 1>>>(nullptr); return 0; }
