//# Shows: nvlink stops at LTO-IR and PTX of newer compilers, before it looks at what comes behind
//# Archs: 75 80 90 100 120
//# Compile: kernel.o = kernel.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: machine.o = kernel.cu
//# Compile: function.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} --compress-mode=none
// The versions of a container of LTO-IR and of its code; those of today are 0x41 and 0x62.
//# Patch: container.o = function.o __nv_relfatbin+0x8d 42
//# Patch: code.o = function.o __nv_relfatbin+0x8f 63
//# Patch: older.o = function.o __nv_relfatbin+0x8d 40
//# Patch: entry.o = function.o __nv_relfatbin+0x28 42
//# For: KIND = container code
//# Link: {KIND}.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o {KIND}.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: elfLink nvvm error
//# CompareText
//# Link: {KIND}_first.cubin = -lto -nvvmpath={lib}/../nvvm {KIND}.o machine.o nothing.o
//# ExpectExit: 1
//# ExpectText: elfLink nvvm error
//# ExpectNoText: partial LTO
//# CompareText
//# Link: {KIND}_last.cubin = -lto -nvvmpath={lib}/../nvvm -r machine.o {KIND}.o
//# ExpectExit: 1
//# ExpectText: partial LTO
//# CompareText
//# Link: {KIND}.ptx = -lto -nvvmpath={lib}/../nvvm -emit-ptx {KIND}.o
//# ExpectExit: 1
//# CompareText
// Older ones are taken, and the version in a fatbin is not looked at.
//# Link: older.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o older.o -L{lib} -lcudadevrt
//# Link: entry.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o entry.o -L{lib} -lcudadevrt
//# Write: newer.ptx = .version 99.0 .target sm_75 .address_size 64 .visible .global .align 4 .b32 value;
//# Link: ptx.cubin = newer.ptx machine.o
//# ExpectExit: 1
//# ExpectText: Unsupported .version 99.0
//# ExpectNoText: aborted
//# CompareText
//# Write: unknown.ptx = .version 9.0 .target sm_199 .address_size 64 .visible .global .align 4 .b32 value;
//# Link: target.cubin = unknown.ptx
//# ExpectExit: 1
//# ExpectText: Ptx assembly aborted due to errors
//# CompareText

__device__ int function(int x);

__global__ void kernel(int *p) { *p = function(*p); }
