//# Shows: -extrawarn tells of functions whose address is taken and that no code that stays calls
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -extrawarn -v -dump-callgraph a.cubin b.cubin
//# ExpectText: warning : Function '_Z8uncalledid' has address taken but no calls to it found
//# ExpectNoText: Function '_Z6calledi'
//# CompareText
//# Link: swapped.cubin = -extrawarn b.cubin a.cubin
//# CompareText
//# Link: all.cubin = -extrawarn -g a.cubin b.cubin
//# CompareText
//# Link: filtered.cubin = -extrawarn -kernels-used=nothing a.cubin b.cubin
//# ExpectText: Function '_Z6calledi'
//# CompareText
//# Link: joined.cubin = -r -extrawarn a.cubin b.cubin
//# ExpectNoText: Function
//# CompareText
//# Link: error.cubin = -extrawarn -Werror a.cubin b.cubin
//# ExpectExit: 255
//# CompareText
//# Link: undefined.cubin = -extrawarn a.cubin
//# ExpectExit: 255
//# CompareText
//# Link: both.cubin = -use-host-info -ignore-host-info a.cubin b.cubin
//# ExpectExit: 1
//# ExpectText: Conflicting options '-use-host-info' and '-ignore-host-info'
//# CompareText
extern __device__ int (*chosen)(int);
extern __device__ float uncalled(int x, double y);
extern __device__ float by_name(float x, float y, int n);

__device__ float (*never)(int, double) = uncalled;
__device__ float (*named)(float, float, int) = by_name;

__noinline__ __device__ int again(int x)
{
    return x < 2 ? x : again(x - 1) * 3 + again(x - 2);
}

__device__ float unused(float x)
{
    return by_name(x, x, 1);
}

__global__ void k(int *p)
{
    *p = again(*p) + chosen(*p);
}
