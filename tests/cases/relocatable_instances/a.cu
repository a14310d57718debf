//# Shows: kernels get their starts of dynamic shared memory in the order of their relocations, in which inline kernels stand among others
//# Compile: a.cu
//# Compile: b.cu
//# Link: one.cubin = a.cubin -r
//# ExpectSymbol: externsharedinstance weak type=13 undefined
//# Link: joined.cubin = a.cubin b.cubin -r
//# Link: other.cubin = b.cubin a.cubin -r
//# Link: recorded.cubin = a.cubin b.cubin -r -preserve-relocs
//# Link: debug.cubin = a.cubin b.cubin -r -g
//# Link: filtered.cubin = a.cubin b.cubin -r -kernels-used=of_nobody
//# Link: filtered_debug.cubin = a.cubin b.cubin -r -g -kernels-used=first
//# Link: again.cubin = joined.cubin -r
//# Link: image.cubin = joined.cubin
//# Link: left_out.cubin = -preserve-relocs -kernels-used=nothing a.cubin b.cubin
//# Link: left_out_swapped.cubin = -preserve-relocs -kernels-used=first b.cubin a.cubin
//# Link: left_out_joined.cubin = -preserve-relocs -kernels-used=first other.cubin
//# Link: twice.cubin = one.cubin other.cubin
//# ExpectExit: 1
//# ExpectNoText: externsharedinstance
//# CompareText
template <class T> __global__ void shared_by_both(T *p)
{
    extern __shared__ unsigned char memory[];
    p[0] = ((T *)memory)[threadIdx.x];
}
extern "C" void *of_int() { return (void *)shared_by_both<int>; }
extern "C" void *of_long() { return (void *)shared_by_both<long>; }
__global__ void strong(int *p)
{
    extern __shared__ unsigned char memory[];
    __shared__ int own[4];
    own[threadIdx.x] = p[1];
    p[0] = memory[threadIdx.x] + own[p[2]];
}
