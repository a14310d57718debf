//# Shows: __managed__ variables and large arrays
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b.cubin
//# ExpectSymbol: m global object size=4
//# ExpectSymbol: big global object size=1048576
//# CompareText
//# Link: alone.cubin = -allow-undefined-globals a.cubin
//# ExpectSymbol: m2 global object undefined
__managed__ int m=5; __managed__ float mz[100]; __device__ char big[1<<20]; extern __managed__ int m2; __global__ void k(int*p){ m+=*p; mz[3]=m2; big[*p]=1; }
