//# Shows: a warning about an option that is an error ends the link at the first host object, library, fatbin or PTX, or behind all inputs
//# Archs: 90 100
//# Compile: k.cubin = k.cu
//# Compile: k.o = k.cu
//# Compile: k.ptx = k.cu -arch=compute_75
//# Fatbinary: k.fatbin = -64 --image3=kind=ptx,sm=75,file=k.ptx
//# Archive: libk.a = k.o
//# Truncate: libempty.a = libk.a 8
//# For: F = k.o k.ptx k.fatbin libk.a libempty.a
//# Link: first.{F}.cubin = -preserve-relocs -Werror {F} nosuch.cubin
//# ExpectExit: 1
//# ExpectText: error   : Option '--preserve-relocs' is not fully implemented
//# CompareText
//# Link: cubin.cubin = -preserve-relocs -Werror k.cubin
//# ExpectExit: 255
//# CompareText
//# Link: cubins.cubin = -preserve-relocs -Werror k.cubin k.cubin -lnosuch
//# ExpectExit: 255
//# CompareText
//# Link: assembled.cubin = -g k.fatbin nosuch.cubin
//# ExpectExit: 1
//# ExpectText: ptxas warning
//# ExpectText: Could not open input file 'nosuch.cubin'
//# CompareText
//# Link: missing.cubin = -preserve-relocs -Werror k.cubin nosuch.cubin
//# ExpectExit: 1
//# CompareText
//# Link: hidden.cubin = -preserve-relocs -Werror -disable-infos k.o
//# ExpectNoText: Option '--preserve-relocs'
//# CompareText
//# Link: hidden-warnings.cubin = -preserve-relocs -w k.o
//# ExpectText: warning : Option '--preserve-relocs'
//# CompareText
//# Link: version.cubin = -preserve-relocs -cuda-api-version=12.9 k.o
//# ExpectExit: 1
//# ExpectText: warning : Option '--preserve-relocs'
//# CompareText
//# Link: link-time.cubin = -preserve-relocs -lto -cuda-api-version=12.9 k.o
//# ExpectExit: 1
//# ExpectNoText: Option '--preserve-relocs'
//# CompareText
//# LinkExactly: virtual = -arch=compute_{sm} -preserve-relocs k.cubin -o virtual.cubin
//# ExpectExit: any
//# ExpectText: Option '--preserve-relocs' is not fully implemented for gpu archtecture 'compute_{sm}'
//# CompareText
__global__ void k(int *p) { *p = 1; }
