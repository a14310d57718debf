//# Shows: the same archive twice is one, a copy of it or an object beside it is not
//# Compile: a.o = a.cu
//# Compile: b.o = b.cu
//# Archive: libb.a = b.o
//# Archive: copy.a = b.o
//# Link: twice.cubin = a.o libb.a libb.a
//# Link: dotted.cubin = a.o libb.a ./libb.a
//# Link: searched.cubin = a.o libb.a -L. -lb
//# Link: copied.cubin = a.o libb.a copy.a
//# ExpectExit: 1
//# ExpectText: error   : Multiple definition of '_Z1fi' in 'copy.a:b.o', first defined in 'libb.a:b.o'
//# ExpectText: fatal   : merge_elf failed
//# CompareText
//# Link: beside.cubin = a.o b.o libb.a
//# ExpectExit: 1
//# ExpectText: error   : Multiple definition of '_Z1fi' in 'libb.a:b.o', first defined in 'b.o'
//# ExpectText: fatal   : merge_elf failed
//# CompareText
extern __device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
void host(int *p) { k<<<1, 1>>>(p); }
