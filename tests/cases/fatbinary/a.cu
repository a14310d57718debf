//# Shows: containers written by fatbinary: raw, compressed, with other architectures and PTX beside
//# Compile: a.cu
//# Compile: b.cu
//# Compile: b86.cubin = b.cu -arch=sm_86
//# Compile: b.ptx = b.cu -arch=compute_75
//# Fatbinary: a.fatbin = -64 --image3=kind=elf,sm={sm},file=a.cubin
//# Fatbinary: b.fatbin = -64 --image3=kind=elf,sm=86,file=b86.cubin --image3=kind=elf,sm={sm},file=b.cubin
//# Fatbinary: compressed.fatbin = -64 --compress-all --image3=kind=elf,sm={sm},file=b.cubin
//# Fatbinary: with-ptx.fatbin = -64 --image3=kind=ptx,sm=75,file=b.ptx --image3=kind=elf,sm={sm},file=b.cubin
//# Fatbinary: only-ptx.fatbin = -64 --image3=kind=ptx,sm=75,file=b.ptx
//# Fatbinary: only-86.fatbin = -64 --image3=kind=elf,sm=86,file=b86.cubin
//# Patch: damaged.fatbin = compressed.fatbin 0x50 00
//# Truncate: cut.fatbin = b.fatbin 200
//# Link: raw.cubin = a.fatbin b.fatbin
//# ExpectSymbol: _Z1fi global func
//# Link: compressed.cubin = a.fatbin compressed.fatbin
//# ExpectSymbol: _Z1fi global func
//# Link: with-ptx.cubin = a.cubin with-ptx.fatbin
//# Link: from-ptx.cubin = a.cubin only-ptx.fatbin
//# ExpectSymbol: _Z1fi global func
//# Link: other-arch.cubin = a.cubin only-86.fatbin
//# ExpectExit: 255
//# ExpectText: warning : SM Arch ('sm_{sm}') not found in 'only-86.fatbin'
//# ExpectText: error   : Undefined reference to '_Z1fi' in 'a.cubin'
//# CompareText
//# Link[75-90]: damaged.out.cubin = damaged.fatbin
//# ExpectExit[75-90]: 1
//# ExpectText[75-90]: error   : Uncompress failed
//# CompareText[75-90]:
//# Patch: alone.fatbin = compressed.fatbin 0x5f 00
//# For: F = damaged alone
//# Link[100]: {F}-elsewhere.cubin = -arch=sm_103 {F}.fatbin
//# ExpectText[100]: warning : SM Arch ('sm_103') not found in '{F}.fatbin'
//# CompareText[100]:
//# Link[120]: {F}-further.cubin = -arch=sm_121 {F}.fatbin
//# ExpectText[120]: warning : SM Arch ('sm_121') not found in '{F}.fatbin'
//# CompareText[120]:
//# Link[100 120]: alone.cubin = alone.fatbin
//# Link[90]: cut-off.cubin = cut.fatbin
//# ExpectExit: crash
extern __device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
