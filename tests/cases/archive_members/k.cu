//# Shows: a member that is no ELF file ends an archive, thin archives name files of the current folder, other members are not linked
//# Compile: k.o = k.cu
//# Compile: f.o = f.cu
//# Compile: g.o = g.cu
//# Compile: g.cubin = g.cu
//# Compile: whole.cubin = w.cu -rdc=false
//# Write: text.txt = no object
//# Archive: cubin.a = g.cubin f.o
//# Archive: text.a = f.o text.txt g.o
//# Archive: inner.a = f.o
//# Archive: nested.a = inner.a
//# Archive: behind.a = g.o inner.a
//# Archive: whole.a = whole.cubin f.o g.o
//# Archive: thin.a = --thin f.o g.o
//# Truncate: cut.a = inner.a 200
//# Truncate: cut.o = f.o 600
//# Link: all.cubin = k.o f.o g.o
//# Link: thin.cubin = k.o thin.a f.o
//# ExpectExit: 1
//# CompareText
//# Link: thin-only.cubin = k.o thin.a f.o.x g.o.x
//# ExpectExit: 1
//# ExpectText: fatal   : Could not open input file 'f.o'
//# CompareText
//# Link: cubin.cubin = k.o cubin.a
//# ExpectExit: 255
//# CompareText
//# Link: text.cubin = k.o text.a
//# ExpectExit: 255
//# CompareText
//# Link: nested.cubin = k.o nested.a
//# ExpectExit: 255
//# CompareText
//# Link: behind.cubin = k.o behind.a
//# ExpectExit: 255
//# CompareText
//# Link: whole.cubin = k.o whole.a
//# Link: cut.cubin = k.o g.o cut.a
//# ExpectExit: 255
//# CompareText
//# Link: cut-object.cubin = k.o g.o cut.o
//# ExpectExit: 1
//# ExpectText: fatal   : Could not find fatbin in 'cut.o'
//# CompareText
extern __device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
