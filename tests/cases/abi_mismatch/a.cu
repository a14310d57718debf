//# Shows: objects of another ABI or of a newer toolkit are refused
//# Compile: a.cu
//# Patch: osabi.cubin = a.cubin 7 33
//# Patch: abiversion.cubin = a.cubin 8 07
//# Patch: newer.cubin = a.cubin .note.nv.cuinfo+0x1c 83
//# Patch: machine.cubin = a.cubin 18 b7 00
//# Patch: shared-object.cubin = a.cubin 16 03
//# Link: osabi-out.cubin = osabi.cubin
//# ExpectExit: 1
//# ExpectText[75 80 90 120]: warning : expected 64bit object 'osabi.cubin' to have EF_CUDA_64BIT_ADDRESS set
//# ExpectText: fatal   : Input file 'osabi.cubin' abi does not match
//# CompareText
//# Link: abiversion-out.cubin = abiversion.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Input file 'abiversion.cubin' abi does not match
//# CompareText
//# Link: newer-out.cubin = newer.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Input file 'newer.cubin' newer than toolkit (131 vs 130)
//# CompareText
//# Patch: version.cubin = a.cubin 20 83 40
//# Link: version-out.cubin = version.cubin
//# ExpectExit[100+]: 1
//# ExpectText[100+]: fatal   : Input file 'version.cubin' newer than toolkit (16515 vs 130)
//# CompareText
//# Link: machine-out.cubin = machine.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : cubin not a device elf?
//# CompareText
//# Link: shared-object-out.cubin = shared-object.cubin
//# ExpectExit[100+]: 1
//# ExpectText[100+]: fatal   : Internal FNLZR error 'shared-object.cubin'
//# CompareText
__global__ void k(int *p) { *p = 1; }
