//# Shows: -dot writes which function calls which, behind all else, and for links that fail, too
//# Compile: a.cu
//# Compile: b.cu
//# Compile: host.o = host.cpp
//# Link: out.cubin = -dot out.dot a.cubin b.cubin
//# ExpectFile: out.dot
//# Link: all.cubin = -g -dot all.dot -dump-callgraph b.cubin a.cubin
//# CompareText
//# Link: filtered.cubin = -kernels-used=only -dot filtered.dot a.cubin b.cubin
//# Link: joined.cubin = -r -dot joined.dot a.cubin b.cubin
//# ExpectFile: joined.dot
//# Link: undefined.cubin = -dot undefined.dot a.cubin
//# ExpectExit: 255
//# ExpectFile: undefined.dot
//# CompareText
//# Link: none.cubin = -dot none.dot host.o
//# ExpectFile: none.dot
//# LinkExactly: virtual = -arch=compute_{sm} -dot virtual.dot a.cubin -o virtual.cubin
//# ExpectExit: any
//# Link: twice.cubin = -dot twice.dot a.cubin a.cubin
//# ExpectExit: 1
//# ExpectNoFile: twice.dot
//# Link: missing.cubin = -dot nosuch/missing.dot -v a.cubin b.cubin
//# ExpectExit: 1
//# ExpectFile: missing.cubin
//# ExpectText: fatal   : Could not open output file 'nosuch/missing.dot'
//# CompareText
__device__ int helper(int x);
extern __device__ int (*chosen)(int);

__noinline__ __device__ int again(int x)
{
    return x < 2 ? helper(x) : again(x - 1) * 3 + again(x - 2);
}

__noinline__ __device__ int unused(int x)
{
    return helper(x) + 1;
}

__global__ void k(int *p)
{
    *p = again(*p) + chosen(*p);
}

__global__ void only(int *p)
{
    *p = helper(*p);
}
