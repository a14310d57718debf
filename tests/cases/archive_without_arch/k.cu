//# Shows: nvlink warns of objects without code for the processor, but not of members of libraries
//# Archs: 90 120
//# Compile: k.o = k.cu
//# Compile: f.o = f.cu -gencode arch=compute_80,code=sm_80
//# Archive: f.a = f.o
//# Link: object.cubin = k.o f.o
//# ExpectText: not found in 'f.o'
//# CompareText
//# Link: member.cubin = k.o f.a
//# ExpectNoText: SM Arch
//# CompareText
//# Link: strict.cubin = k.o f.a -Werror
//# CompareText
__global__ void k(int *p) { *p = 1; }
