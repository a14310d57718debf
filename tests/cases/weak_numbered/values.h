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
extern __device__ int counter;
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
