//# Shows: the stack a kernel needs is the deepest chain of frames over three files
//# Compile: a.cu
//# Compile: b.cu
//# Compile: c.cu
//# Link: out.cubin = -v a.cubin b.cubin c.cubin
//# CompareText
//# Link: reversed.cubin = c.cubin b.cubin a.cubin
extern __device__ int middle(int);
extern __device__ int leaf(int, int);
__global__ void deep(int *p) { *p = middle(*p); }
__global__ void shallow(int *p) { *p = leaf(p[0], p[1]); }
__global__ void flat(int *p) { *p = 1; }
