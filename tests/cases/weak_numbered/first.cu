//# Shows: values of an inline function, which the compiler numbers through each file, are taken from the first file whose value has the number
//# Compile: first.cu
//# Compile: second.cu
//# Link: image.cubin = first.cubin second.cubin
//# ExpectSymbol: _Z6choosei$4 weak object
//# Link: debug.cubin = first.cubin second.cubin -g
//# Link: again.cubin = second.cubin first.cubin
//# Link: joined.cubin = first.cubin second.cubin -r
//# Link: finished.cubin = joined.cubin
//# Link: filtered.cubin = first.cubin second.cubin -kernels-used=last
struct Values { unsigned a, b, c; };
__device__ __forceinline__ Values choose(int e)
{
    switch (e) {
    case 0: return {0, 2, 0};
    case 1: return {0, 4, 0};
    case 2: return {1, 2, 2};
    case 3: return {1, 4, 4};
    default: return {4, 4, 16};
    }
}
__device__ int counter;
struct Pointer { int *p; int k; };
__device__ __forceinline__ Pointer point(int e)
{
    switch (e) {
    case 0: return {&counter, 3};
    case 1: return {nullptr, 4};
    case 2: return {&counter, 5};
    case 3: return {nullptr, 6};
    default: return {&counter, 7};
    }
}
__global__ void first(unsigned *out, int e)
{
    Values v = choose(e);
    Pointer p = point(e);
    out[0] = v.a + p.k;
    out[1] = v.b + (p.p != nullptr);
    out[2] = v.c;
}
