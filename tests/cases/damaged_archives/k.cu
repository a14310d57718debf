//# Shows: archives that are cut short in a member or a header, or whose headers say what nvlink does not look at
//# Archs: 75 100
//# Compile: k.o = k.cu
//# Compile: f.o = f.cu
//# Compile: g.o = g.cu
//# Write: t.txt = x
//# Archive: whole.a = f.o g.o
//# Archive: text.a = f.o g.o t.txt
//# Truncate: half.a = whole.a -1000
//# Link: half.cubin = k.o half.a
//# ExpectExit: 255
//# CompareText
//# For: N = 2 8 16 31
//# Truncate: short-{N}.a = whole.a -{N}
//# Link: short-{N}.cubin = k.o short-{N}.a
//# Link: short-{N}-joined.cubin = -r k.o short-{N}.a
//# CompareText
//# Truncate: name.a = text.a -56
//# Link: name.cubin = k.o name.a
//# Truncate: half-name.a = text.a -61
//# Link: half-name.cubin = k.o half-name.a
//# ExpectExit: 1
//# ExpectText: fatal   : unexpected archive format
//# CompareText
//# Patch: mark.a = whole.a 0x42 78 78
//# Link: mark.cubin = k.o mark.a
//# Patch: nameless.a = whole.a 0x8 61
//# Link: nameless.cubin = k.o nameless.a
//# ExpectExit: 1
//# ExpectText: fatal   : unexpected archive format
//# CompareText
//# Patch: long.a = whole.a 0x9 39
//# Link: long.cubin = k.o long.a
//# ExpectExit: 1
//# ExpectText: fatal   : longnames header not found
//# CompareText
//# Patch: size.a = whole.a 0x38 78
//# Link: size.cubin = k.o size.a
//# ExpectExit: 1
//# ExpectText: fatal   : unexpected archive format
//# CompareText
extern __device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
