//# Shows: functions no kernel reaches go, with all that they alone call; their variables stay
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# ExpectSection: .text._Z4usedi
//# ExpectNoSection: .text._Z6unusedi
//# ExpectNoSection: .text._Z5chaini
//# ExpectSymbol: only_unused_reads global object size=4
//# Link: swapped.cubin = b.cubin a.cubin
__device__ int only_unused_reads = 5;
extern __device__ int used(int);
extern __device__ int chain(int);
__device__ __noinline__ int unused(int x) { return chain(x) + only_unused_reads; }
static __device__ __noinline__ int local_used(int x) { return x * 9; }
__global__ void k(int *p) { *p = used(*p) + local_used(p[1]); }
