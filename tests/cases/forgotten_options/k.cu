//# Shows: nvlink forgets what options say about warnings once it has compiled PTX; before that -disable-infos hides them
//# Archs: 80 90 100
//# Compile: other.o = other.cu -gencode arch=compute_75,code=sm_75
//# Compile: other.cubin = other.cu -gencode arch=compute_75,code=sm_75
//# Compile: recursive.cu
//# Compile: k.cubin = k.cu
//# Compile: k.ptx = k.cu -arch=compute_75
//# Fatbinary: k.fatbin = -64 --image3=kind=ptx,sm=75,file=k.ptx
//# Fatbinary: other.fatbin = -64 --image3=kind=elf,sm=75,file=other.cubin
//# For: BEFORE = other.o recursive.cubin
//# Link: error.{BEFORE}.cubin = -Werror {BEFORE} k.cubin
//# ExpectExit: 255
//# CompareText
//# Link: hidden.{BEFORE}.cubin = -disable-infos -Werror {BEFORE} k.cubin
//# ExpectNoText: warning
//# CompareText
//# For: COMPILED = k.fatbin
//# Link: forgotten.{COMPILED}.cubin = -Werror recursive.cubin {COMPILED} other.o
//# ExpectText: warning : SM Arch
//# ExpectText: warning : Stack size
//# CompareText
//# Link: shown.{COMPILED}.cubin = -disable-infos other.o {COMPILED} recursive.cubin other.o
//# ExpectText: warning : SM Arch
//# ExpectText: warning : Stack size
//# CompareText
//# Link: suppressed.{COMPILED}.cubin = -suppress-stack-size-warning recursive.cubin {COMPILED}
//# ExpectNoText: warning
//# CompareText
//# For: NEXT = k.fatbin k.ptx other.o other.fatbin
//# Link: stopped-by.{NEXT}.cubin = -Werror other.fatbin {NEXT}
//# ExpectExit: 1
//# CompareText
//# Link: last.cubin = -Werror k.cubin other.fatbin
//# ExpectExit: 255
//# CompareText
__global__ void k(int *p)
{
    *p += 1;
}
