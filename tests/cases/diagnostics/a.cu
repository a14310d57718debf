//# Shows: what is wrong with options and files, each with nvlink's words
//# Archs: 90
//# Compile: a.cu
//# Compile: lto.o = a.cu -dlto -arch=sm_90
//# Fatbinary: fine.fatbin = -64 --image3=kind=elf,sm=90,file=a.cubin
//# Patch: wrong.fatbin = fine.fatbin 0x0 00
//# Write: text.ptx = a text of more than fifty bytes, which is as much as nvlink reads first
//# Write: text.ltoir = a text of more than fifty bytes, which is as much as nvlink reads first
//# Write: stray.txt = a.cubin "b
//# LinkExactly: missing-value = a.cubin -arch
//# ExpectExit: 1
//# CompareText
//# LinkExactly: unexpected-value = -arch=sm_90 a.cubin -o x -v=3
//# ExpectExit: 1
//# CompareText
//# LinkExactly: not-a-number = -arch=sm_90 a.cubin -o x -maxrregcount=many
//# ExpectExit: 1
//# CompareText
//# LinkExactly: too-large = -arch=sm_90 a.cubin -o x -maxrregcount=99999999999
//# ExpectExit: 1
//# CompareText
//# LinkExactly: redefined = -arch=sm_80 -arch=sm_90 a.cubin -o redefined.cubin
//# ExpectFile: redefined.cubin
//# CompareText
//# LinkExactly: stray-quote = -arch=sm_90 -o x -optf stray.txt
//# ExpectExit: 1
//# CompareText
//# LinkExactly: no-such-processor = -arch=sm_11 a.cubin -o x
//# ExpectExit: 1
//# CompareText
//# LinkExactly: virtual = -arch=lto_90 a.cubin -o x
//# ExpectExit: 1
//# CompareText
//# Link: host-info.cubin = -kernels-used=k -use-host-info a.cubin
//# CompareText
//# Link: no-fatbin.cubin = wrong.fatbin
//# ExpectExit: 1
//# CompareText
//# Compile: other.o = a.cu -gencode arch=compute_87,code=sm_87
//# Link: strict-no-fatbin.cubin = -Werror other.o wrong.fatbin
//# ExpectExit: 1
//# CompareText
//# Link: no-ptx.cubin = text.ptx
//# ExpectExit: 1
//# CompareText
//# Link: no-ltoir.cubin = text.ltoir
//# ExpectExit: 1
//# CompareText
//# Link: lto-without-option.cubin = lto.o
//# ExpectExit: any
//# CompareText
//# Link: no-library.cubin = -dlto -nvvmpath=nowhere a.cubin
//# ExpectExit: 1
//# CompareText
//# Link: unused-library.cubin = -nvvmpath=nowhere a.cubin
//# CompareText
//# Link: not-partial.cubin = -force-partial-lto a.cubin
//# ExpectExit: 1
//# CompareText
__global__ void k(int *p) { *p = 1; }
