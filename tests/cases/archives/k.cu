//# Shows: static libraries: member selection, -l/-L, order, unused members
//# Compile: k.o = k.cu
//# Compile: la.o = la.cu
//# Compile: lb.o = lb.cu
//# Compile: lc.o = lc.cu
//# Compile: k.cu
//# Compile: la.cu
//# Compile: lb.cu
//# Archive: libx.a = lb.o la.o lc.o
//# Archive: libc2.a = lb.cubin la.cubin
//# Link: out.cubin = k.o libx.a
//# ExpectSymbol: _Z2lbi global func
//# ExpectSymbol: _Z3klcPi global func
//# Link: out2.cubin = k.o -L. -lx
//# ExpectSymbol: _Z2lbi global func
//# Link: out3.cubin = libx.a k.o
//# Link: out4.cubin = k.cubin libx.a
//# Link: out5.cubin = k.o -L. -lnosuch
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_Z2lai' in 'k.o'
//# CompareText
//# Link: out6.cubin = k.o -L. -lc2
//# ExpectExit: 255
//# ExpectText: warning : Skipping incompatible './libc2.a' when searching for -lc2
//# ExpectText: error   : Undefined reference to '_Z2lai' in 'k.o'
//# CompareText
//# Link: out7.cubin = libx.a
//# Link: out8.cubin = -v k.o libx.a
//# CompareText
extern __device__ int la(int); __global__ void k(int*p){ *p=la(*p); }
