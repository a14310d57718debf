//# Shows: where debug information of dynamic shared memory says that it starts
//# Archs: 75 80 90 100 120
//# Compile: a.cu -G
//# Compile: b.cu -G
//# Compile: c.cu -G
//# Link: out.cubin = a.cubin b.cubin
//# Link: debugged.cubin = -g a.cubin b.cubin
//# Link: alone.cubin = -g b.cubin
//# Link: recorded.cubin = -g -preserve-relocs a.cubin b.cubin
//# Link: relocatable.cubin = -g -r a.cubin b.cubin
//# Link: apart.cubin = -g c.cubin
//# Link: all.cubin = -g a.cubin b.cubin c.cubin
//# Link: joined.r.cubin = -r a.cubin b.cubin
//# Link: late.cubin = c.cubin joined.r.cubin
//# ExpectExit: 1
//# ExpectText: Multiple definition of 'dynamic' in 'joined.r.cubin', first defined in 'c.cubin'
//# CompareText
//# Link: early.cubin = joined.r.cubin c.cubin
//# Link: early.r.cubin = -r joined.r.cubin c.cubin
//# Link: joined-debug.r.cubin = -r -g a.cubin b.cubin c.cubin
//# Link: again.r.cubin = -r joined-debug.r.cubin
//# Link: again-debug.r.cubin = -r -g joined-debug.r.cubin
//# Link: relocatable_apart.cubin = -g -r c.cubin
extern __shared__ int dynamic[];
extern __shared__ double wide[];
__shared__ int common[10];

__device__ __noinline__ int reads(int i)
{
    common[i] = 3;
    return dynamic[i] + common[i ^ 1];
}

__global__ void small(int *p)
{
    __shared__ int own[6];
    own[threadIdx.x] = 4;
    dynamic[threadIdx.x] = p[0];
    __syncthreads();
    p[1] = dynamic[threadIdx.x ^ 1] + own[threadIdx.x ^ 1];
}

__global__ void large(int *p)
{
    __shared__ int own[60];
    own[threadIdx.x] = reads(4);
    wide[5] = 6;
    __syncthreads();
    p[1] = own[threadIdx.x ^ 1] + wide[4];
}
