// Calls through a table of functions of another file, and of a function whose address the kernel takes.
typedef int (*Operation)(int);
extern __device__ Operation operations[3];
__device__ int halve(int value);
__device__ int apply(Operation operation, int value);

extern "C" __global__ void test(int *out) {
    int i = threadIdx.x;
    out[i] = operations[i % 3](i) + 1000 * apply(halve, i);
}
