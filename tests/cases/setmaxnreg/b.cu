__device__ int scaled(int in) { return in * 3 + 1; }
