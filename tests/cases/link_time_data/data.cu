//# Shows: what is made of LTO-IR without a kernel is linked, though nothing is missing
//# Archs: 75 80 90 100 120
//# Compile: data.o = data.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: kernel.o = kernel.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Link: data.cubin = -lto -nvvmpath={lib}/../nvvm data.o -L{lib} -lcudadevrt
//# ExpectSection[75-90]: .nv.rel.action
//# Link: kernel.cubin = -lto -nvvmpath={lib}/../nvvm data.o kernel.o -L{lib} -lcudadevrt
//# ExpectNoSection[90]: .nv.rel.action
//# Link[75-90]: none.cubin = -lto -nvvmpath={lib}/../nvvm data.o kernel.o -L{lib} -lcudadevrt -kernels-used=other
//# ExpectNoSymbol[75-90]: kernel
#include "numbers.h"

int first() { return numbers[0]; }
