//# Shows: -arch=compute_NN looks at inputs and writes no image; objects for sm_100 and later end the link
//# Archs: 80 90 100
//# Compile: a.cubin = a.cu
//# Compile: a.o = a.cu
//# Compile: a.ptx = a.cu -arch=compute_75
//# Compile: older.cubin = a.cu -arch=sm_75
//# Compile: special.cubin = a.cu -arch=sm_90a
//# Compile: host.o = host.cpp
//# Compile: only.o = a.cu -gencode arch=compute_{sm},code=sm_{sm}
//# Compile: only.fatbin = a.cu -gencode arch=compute_{sm},code=sm_{sm}
//# Compile: optimized.o = a.cu -gencode arch=compute_{sm},code=lto_{sm}
//# For: F = a.cubin a.o only.o only.fatbin a.ptx older.cubin special.cubin host.o optimized.o
//# For: T = 75 80 86 90 90a 100 100f 120
//# LinkExactly: {F}.{T} = -arch=compute_{T} {F} -o {F}.{T}.cubin
//# ExpectExit: any
//# ExpectNoFile: {F}.{T}.cubin
//# CompareText
//# LinkExactly: {F}.{T}.more = -arch=compute_{T} -w {F} older.cubin -r nosuch.o -o {F}.{T}.cubin
//# ExpectExit: 1
//# CompareText
//# LinkExactly: {F}.{T}.without-output = -arch=compute_{T} {F}
//# ExpectNoFile: {F}.{T}.without-output
//# ExpectExit: any
//# CompareText
//# LinkExactly: registers-{T} = -arch=compute_{T} a.o --register-link-binaries=registers-{T}.h
//# ExpectExit: any
//# CompareText
//# LinkExactly: not-jit-able = -arch=lto_80 a.cubin
//# ExpectExit: 1
//# CompareText
//# LinkExactly: not-jit-able-alone = -arch=lto_80 -o not-jit-able-alone.cubin
//# ExpectExit: 1
//# CompareText
__global__ void k(int *p) { *p = 1; }
