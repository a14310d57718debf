//# Shows: constant bank 3 over 64 KiB (error)
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# ExpectExit: 255
//# ExpectText: error   : File uses too much global constant data (0x13880 bytes, 0x10000 max)
//# CompareText
//# Patch[80]: claims.cubin = b.cubin .symtab+0x100 ff ff ff 7f
//# Patch[90]: claims.cubin = b.cubin .symtab+0x1a8 ff ff ff 7f
//# Patch[120]: claims.cubin = b.cubin .nv.merc.symtab+0x1a8 ff ff ff 7f
//# Link[80 90 120]: claims.out = a.cubin claims.cubin
//# ExpectExit[80 90 120]: 255
//# ExpectText[80 90 120]: error   : File uses too much global constant data (0x80009c3f bytes, 0x10000 max)
//# CompareText[80 90 120]:
__constant__ char big1[40000]={1}; __global__ void k1(int*p){ *p=big1[*p]; }
