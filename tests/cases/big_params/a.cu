//# Shows: kernels with many and large parameters, structures by value
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b.cubin
//# CompareText
struct Small { char c; double d; short s; };
struct Large { int values[200]; };
extern __device__ int sum(Large, int);
__global__ void many(char a, short b, int c, long long d, float e, double f, void *g, Small h, int *out) {
    *out = a + b + c + (int)d + (int)e + (int)f + h.c + h.s + (g != nullptr);
}
__global__ void large(Large values, int *out) { *out = sum(values, 3); }
__global__ void three(char3 a, float4 b, Small c, int *out) { *out = a.y + (int)b.w + c.s; }
