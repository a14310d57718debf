//# Shows: constants of several alignments in two files share bank 3
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b.cubin
//# CompareText
//# Link: swapped.cubin = b.cubin a.cubin
__constant__ char c1 = 1;
__constant__ double c2[3] = {1, 2, 3};
__constant__ short c3[5] = {1, 2, 3, 4, 5};
__constant__ float4 c4;
__constant__ __align__(64) int c5[2] = {8, 9};
__global__ void ka(int *p) { *p = c1 + (int)c2[p[1] & 1] + c3[p[2] & 3] + (int)c4.y + c5[p[3] & 1]; }
