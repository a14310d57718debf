extern "C" __device__ int m(int x) { return x; }
