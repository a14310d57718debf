//# Shows: named barriers of a function in another file count for every kernel that reaches it
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b.cubin
//# CompareText
//# Link: swapped.cubin = b.cubin a.cubin
extern __device__ int wait_five(int);
extern __device__ int wait_one(int);
__global__ void none(int *p) { *p = 1; }
__global__ void direct(int *p) {
    __syncthreads();
    asm volatile("bar.sync 2;");
    *p = 2;
}
__global__ void through(int *p) { *p = wait_five(*p); }
__global__ void both(int *p) { *p = wait_one(*p) + wait_five(p[1]); }
