//# Shows: where __constant__ variables do not fit, those go that no kernel which stays needs and no option or host code names
//# Compile: a.cubin = a.cu
//# Compile: b.cubin = b.cu
//# Compile: a.o = a.cu
//# Compile: b.o = b.cu
//# Link: all.cubin = a.cubin b.cubin
//# ExpectExit: 255
//# CompareText
//# For: K = first second third fourth
//# Link: {K}.cubin = -kernels-used={K} a.cubin b.cubin
//# Link: {K}.swapped.cubin = -kernels-used={K} b.cubin a.cubin
//# Link: {K}.recorded.cubin = -kernels-used={K} -preserve-relocs a.cubin b.cubin
//# ExpectExit: any
//# CompareText
//# Link: {K}.debug.cubin = -kernels-used={K} -g a.cubin b.cubin
//# ExpectExit: 255
//# Link: {K}.verbose.cubin = -kernels-used={K} -v a.cubin b.cubin
//# CompareText
//# Link: {K}.named.cubin = -kernels-used={K} -variables-used=number a.cubin b.cubin
//# Link: both.cubin = -kernels-used=first,second a.cubin b.cubin
//# ExpectExit: 255
//# CompareText
//# Link: variables.cubin = -variables-used=small,number a.cubin b.cubin
//# Link: nothing.cubin = -kernels-used=nothing -variables-used=nothing a.cubin b.cubin
//# Link: hosted.cubin = a.o b.o
//# ExpectNoSymbol: second_table
//# ExpectSymbol: host_number global object
//# Link: hosted-swapped.cubin = b.o a.o
//# Link: null.cubin = a.o b.o -reserve-null-pointer
//# Link: forced.cubin = a.o b.o -force-rela
//# Link: unhosted.cubin = -ignore-host-info a.o b.o
//# ExpectExit: 255
__constant__ int first_table[9000] = {1};
__constant__ int through_function = 2, through_data = 3, through_dead = 4, number = 5;
__constant__ short small_number = 6;
__constant__ int host_number = 7;
__constant__ int link0 = 8;
__constant__ const int *link1 = &link0;
__constant__ const int **link2 = &link1;
__device__ const int *data = &through_data;
__device__ __noinline__ int function(int n) { return through_function + n; }
__device__ __noinline__ int dead(int n) { return through_dead + n; }
extern __constant__ int second_table[9000];
__global__ void first(int *p) { *p = first_table[*p] + function(3) + *data; }
__global__ void second(int *p) { *p = second_table[*p] + dead(4) + small_number; }
__global__ void third(int *p) { *p = number + **link2; }
int launch(int *p)
{
    cudaMemcpyToSymbol(host_number, p, 4);
    first<<<1, 1>>>(p);
    return 0;
}
