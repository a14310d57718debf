// A kernel that calls into another file, and a managed variable.
#include <cstdio>

extern __device__ int triple(int);
extern __device__ int offset;
__managed__ int total;

template <typename T> __global__ void apply(T *out, T in) { out[threadIdx.x] = triple(in) + offset; }
static __global__ void add() { total += offset; }

int launch_part();

int main()
{
    int *out = nullptr;
    cudaError_t allocated = cudaMalloc(&out, sizeof(int));
    apply<<<1, 1>>>(out, 3);
    cudaError_t launched = cudaGetLastError();
    add<<<1, 1>>>();
    std::printf("main %d %d part %d\n", (int)allocated, (int)launched, launch_part());
    return 0;
}
