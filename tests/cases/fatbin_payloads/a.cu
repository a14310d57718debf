//# Shows: entries of fatbins that say to be device objects and are none: nvlink asks for their type, then for their class, ABI and processor, and not for magic number and machine
//# Archs: 80 90
//# Compile: a.cu
//# Compile: b.cu
//# Compile: older.cubin = b.cu -arch=sm_75
//# Fatbinary: whole.fatbin = --create=whole.fatbin -64 --image3=kind=elf,sm={sm},file=b.cubin
//# Link: out.cubin = a.cubin whole.fatbin
//# Patch: magic.fatbin = whole.fatbin 0x50 21
//# Link: magic.cubin = a.cubin magic.fatbin
//# Patch: machine.fatbin = magic.fatbin 0x62 3e
//# Link: machine.cubin = a.cubin machine.fatbin
//# Patch: abi.fatbin = machine.fatbin 0x57 00
//# Link: abi.cubin = a.cubin abi.fatbin
//# ExpectExit: 1
//# ExpectText: abi does not match
//# CompareText
//# Patch: narrow.fatbin = whole.fatbin 0x54 01
//# Link: narrow.cubin = a.cubin narrow.fatbin
//# ExpectExit: 1
//# ExpectText: size does not match target '-m64'
//# CompareText
//# Patch: image.fatbin = narrow.fatbin 0x60 02
//# Link: image.cubin = -r a.cubin image.fatbin
//# ExpectSymbol: _Z4stepi undefined
//# Fatbinary: older.fatbin = --create=older.fatbin -64 --image3=kind=elf,sm=75,file=older.cubin
//# Patch[80]: other.fatbin = older.fatbin 0x2c 50
//# Patch[90]: other.fatbin = older.fatbin 0x2c 5a
//# Link: other.cubin = a.cubin other.fatbin
//# ExpectExit: 1
//# ExpectText: arch does not match target
//# CompareText
__device__ int step(int);
__global__ void k(int *p) { *p = step(*p); }
