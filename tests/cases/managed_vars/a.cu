//# Shows: __managed__ variables and large arrays; whether a variable is managed is the same in all files
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b.cubin
//# ExpectSymbol: m global object size=4
//# ExpectSymbol: big global object size=1048576
//# CompareText
//# Link: alone.cubin = -allow-undefined-globals a.cubin
//# ExpectSymbol: m2 global object undefined
//# Compile: function.cu
//# Compile: plain.cu
//# Compile: use.cu
//# For: OTHER = function plain use
//# Link: {OTHER}.first.cubin = {OTHER}.cubin a.cubin
//# ExpectExit: 1
//# ExpectText: Managed attribute doesn't match for 'm' in 'a.cubin', first specified in '{OTHER}.cubin'
//# CompareText
//# Link: {OTHER}.last.cubin = a.cubin {OTHER}.cubin
//# ExpectExit: 1
//# CompareText
//# Link: {OTHER}.relocatable.cubin = -r {OTHER}.cubin a.cubin
//# ExpectExit: 1
//# CompareText
//# Link: undefined.cubin = use.cubin b.cubin
//# ExpectExit: 1
//# ExpectText: Managed attribute doesn't match for 'm' in 'b.cubin', first specified in 'use.cubin'
//# CompareText
__managed__ int m=5; __managed__ float mz[100]; __device__ char big[1<<20]; extern __managed__ int m2; __global__ void k(int*p){ m+=*p; mz[3]=m2; big[*p]=1; }
