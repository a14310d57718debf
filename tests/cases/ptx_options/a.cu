//# Shows: PTX inputs are compiled during the link, with the options of the link, of the container and of -Xptxas
//# Compile: a.cu
//# Compile: b.ptx = b.cu -arch=compute_75
//# Compile: c.ptx = c.cu -arch=compute_75
//# Fatbinary: b.fatbin = -64 --image3=kind=ptx,sm=75,file=b.ptx
//# Fatbinary: c.fatbin = -64 --image3=kind=ptx,sm=75,file=c.ptx
//# Fatbinary: options.fatbin = -64 --cmdline=-O1 --image3=kind=ptx,sm=75,file=b.ptx
//# Fatbinary: bogus.fatbin = -64 --cmdline=-bogus --image3=kind=ptx,sm=75,file=b.ptx
//# Write: broken.ptx = .version 9.0 .target sm_75 .address_size 64 .nonsense
//# Write: text.ptx = a text of more than fifty bytes, which is as much as nvlink reads first
//# Link: plain.cubin = b.fatbin a.cubin c.fatbin
//# ExpectSymbol: _Z1gi global func
//# CompareText
//# Link: registers.cubin = -maxrregcount=32 a.cubin b.fatbin c.fatbin
//# CompareText
//# Link: unlimited.cubin = -maxrregcount=-1 -split-compile=1 a.cubin b.fatbin c.fatbin
//# CompareText
//# Link: zero-registers.cubin = -maxrregcount=0 -split-compile=999 a.cubin b.fatbin c.fatbin
//# CompareText
//# Link: hexadecimal.cubin = -maxrregcount=0x20 -split-compile=02 a.cubin b.fatbin c.fatbin
//# CompareText
//# Link: no-code.cubin = -maxrregcount=1000 -split-compile=1000 a.cubin
//# ExpectExit: any
//# CompareText
//# Link: api-version.cubin = -cuda-api-version=13.0 a.cubin b.fatbin c.fatbin
//# Link: newer-api.cubin = -cuda-api-version=13.1 a.cubin b.fatbin
//# ExpectExit: 1
//# ExpectText: ptxas fatal   : Invalid value '13.1' for option '--cuda-api-version'
//# CompareText
//# Link: long-api.cubin = -cuda-api-version=13.10 a.cubin b.fatbin -split-compile=1000
//# ExpectExit: 1
//# ExpectText: fatal   : Invalid argument for option '-cuda-api-version'
//# CompareText
//# Link: four-digits.cubin = -maxrregcount=1000 -split-compile=1000 a.cubin b.fatbin missing.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Invalid argument for option '-maxrregcount'
//# CompareText
//# Link: four-characters.cubin = -maxrregcount=-100 -split-compile=-100 a.cubin b.ptx
//# ExpectExit: 1
//# ExpectText: fatal   : Invalid argument for option '-split-compile'
//# CompareText
//# Link: library.cubin = -split-compile=1000 a.cubin -L{lib} -lcudadevrt
//# ExpectExit: 1
//# CompareText
//# Link: assembler.cubin = -Xptxas=-O1,--def-load-cache=ca a.cubin b.fatbin c.fatbin
//# CompareText
//# Link: protected.cubin = -device-stack-protector=true -split-compile=2 a.cubin b.fatbin c.fatbin
//# CompareText
//# Link: repeated.cubin = -Xptxas=-maxrregcount=40 -maxrregcount=32 a.cubin b.fatbin c.fatbin
//# CompareText
//# Link: container.cubin = a.cubin options.fatbin c.fatbin
//# CompareText
//# Link: overridden.cubin = -Xptxas=-O2 a.cubin options.fatbin c.fatbin
//# CompareText
//# Link[75-90]: debug.cubin = -g a.cubin b.fatbin c.fatbin
//# CompareText
//# Link[75-90]: named-arch.cubin = -report-arch -g a.cubin b.fatbin c.fatbin
//# ExpectText[75-90]: ptxas warning :  .debug_info section not found (target: sm_{sm})
//# CompareText[75-90]
//# Link: bogus-named-arch.cubin = -report-arch a.cubin bogus.fatbin
//# ExpectExit: 1
//# CompareText
//# Link: bogus.cubin = a.cubin bogus.fatbin
//# ExpectExit: 1
//# CompareText
//# Link: bogus-option.cubin = -Xptxas=-bogus a.cubin b.fatbin c.fatbin
//# ExpectExit: 1
//# CompareText
//# Write: words.txt = -O1 --def-load-cache=cg
//# Link: words-in-file.cubin = -Xptxas=--options-file=words.txt a.cubin b.fatbin c.fatbin
//# CompareText
//# Link: no-such-file.cubin = -Xptxas=--options-file=missing.txt a.cubin b.fatbin
//# ExpectExit: 1
//# ExpectText: ptxas fatal   : Could not open options file 'missing.txt'
//# CompareText
//# Link: further-source.cubin = -Xptxas=c.ptx a.cubin c.fatbin
//# ExpectExit: 1
//# ExpectText: ptxas application ptx input, line
//# CompareText
//# Link: broken.cubin = a.cubin broken.ptx
//# ExpectExit: 1
//# CompareText
//# Link: text.cubin = a.cubin text.ptx
//# ExpectExit: 1
//# CompareText
//# Link[90+]: files.cubin = a.cubin b.ptx c.ptx -v
//# CompareText
//# Link[100+]: family.cubin = -arch=sm_{sm}f b.fatbin c.fatbin a.cubin
//# CompareText[100+]
extern __device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
