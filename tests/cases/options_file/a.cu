//# Shows: options files: several of them, long and short option, double quotes, single quotes that are part of a name
//# Compile: a.cu
//# Compile: b.cu
//# Write: inputs.txt = a.cubin b.cubin
//# Write: options.txt = -arch=sm_{sm} -v
//# Write: quoted.txt = "a.cubin" b.cubin
//# Write: single-quoted.txt = 'a.cubin' b.cubin
//# Write: escaped.txt = a\\"b c".cubin "d\"e.cubin"
//# Link: out.cubin = -optf inputs.txt
//# Link: long.cubin = --options-file inputs.txt
//# LinkExactly: both.cubin = -optf options.txt -optf inputs.txt -o both.cubin
//# CompareText
//# Link: quoted.cubin = -optf quoted.txt
//# Link: single-quoted.cubin = -optf single-quoted.txt
//# ExpectExit: 1
//# ExpectText: fatal   : Could not open input file ''a.cubin''
//# CompareText
//# Write: blanks.txt = \ a.cubin \  b.cubin\ \  -v\ \\\ \ 
//# Link: blanks.cubin = -optf blanks.txt
//# ExpectExit: 1
//# CompareText
//# Write: escaped-blanks.txt = \ a.cubin\ \  \  b.cubin\  \ 
//# Link: escaped-blanks.cubin = -optf escaped-blanks.txt
//# ExpectExit: 1
//# CompareText
//# Link: escaped.cubin = -optf escaped.txt
//# ExpectExit: 1
//# ExpectText: fatal   : Could not open input file 'a\"b c.cubin'
//# CompareText
//# Link: folder.cubin = -optf . a.cubin b.cubin
//# CompareText
//# Link: binary.cubin = -optf a.cubin b.cubin
//# ExpectExit: 1
//# CompareText
extern __device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
