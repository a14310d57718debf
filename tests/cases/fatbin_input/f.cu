//# Shows: fatbin files, multi-arch objects, PTX-only inputs, missing arch
//# Compile: k.fatbin = k.cu -gencode arch=compute_{sm},code=sm_{sm}
//# Compile: f2.o = f.cu -gencode arch=compute_{sm},code=sm_{sm} -gencode arch=compute_86,code=sm_86
//# Compile: f86.o = f.cu -gencode arch=compute_86,code=sm_86
//# Compile: fptx.o = f.cu -gencode arch=compute_75,code=compute_75
//# Compile: f.ptx = f.cu -arch=sm_75
//# Compile: plain.o = plain.cpp
//# Fatbinary: newer.fatbin = -64 --image3=kind=ptx,sm=121,file=f.ptx
//# Link: nothing.cubin = newer.fatbin f2.o
//# CompareText
//# Patch: ptx.other = newer.fatbin 0 50
//# Link: other-name.cubin = f2.o ptx.other
//# ExpectExit: 1
//# ExpectText: Could not find fatbin in 'ptx.other'
//# CompareText
//# Link: out.cubin = k.fatbin f2.o
//# ExpectSymbol: _Z1fi global func
//# Link: out2.cubin = k.fatbin f86.o
//# ExpectExit: 255
//# ExpectText: warning : SM Arch ('sm_{sm}') not found in 'f86.o'
//# ExpectText: error   : Undefined reference to '_Z1fi' in 'k.fatbin'
//# CompareText
//# Link: out2b.cubin = -suppress-arch-warning k.fatbin f86.o
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_Z1fi' in 'k.fatbin'
//# CompareText
//# Link: out3.cubin = k.fatbin fptx.o
//# ExpectSymbol: _Z1fi global func
//# Link: out4.cubin = k.fatbin f.ptx
//# ExpectExit[75 80]: 255
//# ExpectText[75 80]: error   : Undefined reference to '_Z1fi' in 'k.fatbin'
//# CompareText
//# Write: newer.ptx = .version 9.0 .target sm_90 .address_size 64 .visible .global .align 4 .b32 newer = 1;
//# Link[75-80]: newer.cubin = k.fatbin newer.ptx
//# ExpectExit[75-80]: 1
//# ExpectText[75-80]: SM version specified by .target is higher
//# CompareText
//# Link: debug.cubin = -g k.fatbin f.ptx
//# ExpectExit[75 80]: 255
//# CompareText
//# Link: out5.cubin = k.fatbin plain.o f2.o
//# Link: out6.cubin = plain.o
__device__ int f(int x){return x+1;}
