//# Shows: a relocatable link of nothing, and what its lack of attributes means in later links
//# Compile: a.cu
//# Compile: b.cu
//# Write: nothing.cubin =
//# Link: r.cubin = -r nothing.cubin
//# Link: again.cubin = -r r.cubin
//# ExpectText[90+]: warning : Output is limited to run on SM Arch '{sm}' only, due to missing attribute 'ISA_CLASS' in input file 'r.cubin'
//# CompareText
//# Link: out.cubin = r.cubin
//# CompareText
//# Fatbinary: empty-first.fatbin = -64 --image3=kind=elf,sm={sm},file=r.cubin --image3=kind=elf,sm={sm},file=a.cubin
//# Fatbinary: empty-last.fatbin = -64 --image3=kind=elf,sm={sm},file=a.cubin --image3=kind=elf,sm={sm},file=out.cubin
//# Fatbinary: image-first.fatbin = -64 --image3=kind=elf,sm={sm},file=out.cubin --image3=kind=elf,sm={sm},file=a.cubin
//# For: which = empty-first empty-last image-first
//# Link: {which}.cubin = -v {which}.fatbin b.cubin
//# ExpectExit: any
//# CompareText
//# Link: first.cubin = r.cubin a.cubin b.cubin
//# CompareText
//# Link: last.cubin = a.cubin b.cubin r.cubin
//# CompareText
//# Link: between.cubin = -r a.cubin r.cubin b.cubin
//# CompareText
//# Link: strict.cubin = -Werror a.cubin r.cubin b.cubin
//# ExpectExit[90+]: 1
//# ExpectText[90+]: fatal   : merge_elf failed
//# CompareText
extern __device__ float twice(float x);
__global__ void k(float *p) { *p = twice(*p); }
