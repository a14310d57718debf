//# Shows: what two files of LTO-IR define, or none, beside machine code and without
//# Archs: 75 90 120
//# Compile: kernel.o = kernel.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: twice.o = twice.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: again.o = again.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: machine.o = twice.cu
//# Compile: kernel.machine.o = kernel.cu
// The compiler in the library says it of the file behind, and of one name.
//# Link: both.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o twice.o again.o
//# ExpectExit: 1
//# ExpectText: again.o: link error: error: Linking globals named 'factor': symbol multiply defined!
//# CompareText
//# Link: both_part.cubin = -lto -nvvmpath={lib}/../nvvm -r again.o twice.o kernel.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: twice.o: link error: error: Linking globals named 'factor': symbol multiply defined!
//# CompareText
// The linker says it of what was made of all LTO-IR.
//# Link: behind.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o again.o machine.o
//# ExpectExit: 1
//# ExpectText: Multiple definition of '_Z5twicei' in 'machine.o', first defined in 'lto.cubin'
//# CompareText
//# Link: before.cubin = -lto -nvvmpath={lib}/../nvvm machine.o kernel.o again.o
//# ExpectExit: 1
//# ExpectText: Multiple definition of '_Z5twicei' in 'lto.cubin', first defined in 'machine.o'
//# CompareText
// The assembler says it of a whole program.
//# Link: undefined.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o
//# ExpectExit: 1
//# ExpectText: ptxas fatal   : Unresolved extern function '_Z5twicei'
//# CompareText
//# Link: undefined_linked.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o -L{lib} -lcudadevrt
//# ExpectExit: 255
//# ExpectText: Undefined reference to '_Z5twicei' in 'lto.cubin'
//# CompareText
//# Link: undefined_machine.cubin = -lto -nvvmpath={lib}/../nvvm kernel.machine.o kernel.o
//# ExpectExit: 1
//# CompareText
__device__ int twice(int x);
extern __device__ int factor;

__global__ void kernel(int *p) { *p = twice(*p) + factor; }
