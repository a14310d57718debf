__global__ void elsewhere(int *p);
__global__ void launches(int *p) { elsewhere<<<1, 32>>>(p); }
