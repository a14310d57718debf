//# Shows: with -preserve-relocs, kernels that no host code names are none: they inherit nothing, and a lone kernel is told what they do
//# Compile: a.o = a.cu
//# Compile: b.o = b.cu
//# Link: out.cubin = -preserve-relocs a.o b.o
//# Link: verbose.cubin = -preserve-relocs -v a.o b.o
//# CompareText
//# Link: debug.cubin = -g -suppress-debug-info a.o b.o
//# Link: all.cubin = -preserve-relocs -ignore-host-info a.o b.o
__device__ int heavy(const int *p);
__global__ void left_out(int *p)
{
    __shared__ int cells[32];
    cells[threadIdx.x & 31] = p[threadIdx.x];
    __syncthreads();
    p[0] = heavy(p) + cells[3];
}
namespace {
template <class T> __global__ void used(T *p) { p[1] = T(7); }
}
void go(int *p) { used<<<1, 32>>>(p); }
