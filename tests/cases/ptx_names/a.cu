//# Shows: machine code in files with the name of PTX is linked like PTX: not before sm_90
//# Archs: 75 90 100
//# Compile: a.cu
//# Compile: b.cubin = b.cu
//# Compile: b.o = b.cu
//# Fatbinary: b.fatbin = -64 --image3=kind=elf,sm={sm},file=b.cubin
//# Patch: cubin.ptx = b.cubin 0 7f
//# Patch: fatbin.ptx = b.fatbin 0 50
//# Patch: object.ptx = b.o 0 7f
//# For: F = cubin fatbin object
//# Link: {F}.last.cubin = a.cubin {F}.ptx --time {F}.csv
//# ExpectExit: any
//# ExpectFile: {F}.csv
//# CompareText
//# Link: {F}.first.cubin = {F}.ptx a.cubin
//# ExpectExit: any
//# CompareText
//# Link: {F}.relocatable.cubin = a.cubin {F}.ptx -r
//# ExpectExit: any
//# CompareText
//# Link: {F}.warned.cubin = -preserve-relocs -Werror {F}.ptx a.cubin
//# ExpectExit: any
//# CompareText
//# Link: {F}.elsewhere.cubin = -arch=sm_120 {F}.ptx
//# ExpectExit: any
//# CompareText
__device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
