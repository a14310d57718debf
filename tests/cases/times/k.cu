//# Shows: -time writes a row for each piece of PTX and for LTO-IR, also in links that fail; modules of a whole program of LTO-IR
//# Archs: 80 90 100
//# Compile: k.cubin = k.cu
//# Compile: f.ptx = f.cu -arch=compute_75
//# Compile: g.ptx = g.cu -arch=compute_75
//# Compile: f.lto.o = f.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: k.lto.o = k.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: g.o = g.cu -gencode arch=compute_75,code=compute_75
//# Fatbinary: f.fatbin = -64 --image3=kind=ptx,sm=75,file=f.ptx
//# Write: broken.ptx = .version 9.0 .target sm_75 .address_size 64 .nonsense
//# Archive: libg.a = g.o
//# Link: mixed.cubin = k.cubin f.fatbin libg.a -time mixed.csv
//# ExpectFile: mixed.csv
//# CompareText
//# Link: files.cubin = f.ptx k.cubin g.ptx -time files.csv
//# ExpectExit: any
//# ExpectFile: files.csv
//# CompareText
//# Link: relocatable.cubin = -r k.cubin f.fatbin -time relocatable.csv
//# Link: missing.cubin = k.cubin f.fatbin -time missing.csv
//# ExpectExit: 255
//# ExpectText: Undefined reference
//# ExpectFile: missing.csv
//# CompareText
//# Link: no-file.cubin = k.cubin f.fatbin nosuch.o g.o -time no-file.csv
//# ExpectExit: 1
//# ExpectFile: no-file.csv
//# CompareText
//# Link: broken.cubin = k.cubin f.fatbin broken.ptx g.o -time broken.csv
//# ExpectExit: 1
//# ExpectFile: broken.csv
//# CompareText
//# Link: optimized.cubin = -lto -nvvmpath={lib}/../nvvm k.lto.o f.lto.o g.o -L{lib} -lcudadevrt -time optimized.csv
//# ExpectFile: optimized.csv
//# CompareText
//# Compile: g.lto.o = g.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: g.sm.o = g.cu -gencode arch=compute_{sm},code=sm_{sm}
//# For: LAST = g.lto.o g.sm.o
//# Link: modules.{LAST}.cubin = -lto -nvvmpath={lib}/../nvvm k.lto.o f.lto.o {LAST} -L{lib} -lcudadevrt --register-link-binaries {LAST}.h
//# ExpectFile: {LAST}.h
//# CompareText
//# LinkExactly: virtual = -arch=compute_{sm} f.ptx g.o -o virtual.cubin -time virtual.csv
//# ExpectExit: any
//# ExpectFile: virtual.csv
//# CompareText
__device__ int f(int);
__device__ int g(int);
__global__ void k(int *p) { *p = f(*p) + g(*p); }
