__device__ int helper(int x) { return x + 1; }

static __global__ void own(int *p) { *p = helper(3); }

void other_host(int *p) { own<<<1, 1>>>(p); }
