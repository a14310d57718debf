// Not what its name says, so that it is told apart from that of the program.
__device__ int twice(int x) { return 100 * x; }
