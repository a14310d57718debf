//# Shows: broken or odd inputs and options: messages and exit codes
//# Compile: a.cu
//# Compile: whole.cubin = w.cu -rdc=false
//# Truncate: trunc.cubin = a.cubin 100
//# Truncate: trunc2.cubin = a.cubin 3000
//# Write: empty.cubin =
//# Write: text.txt = hello
//# Write: opts.txt = -arch=sm_{sm} a.cubin whole.cubin -o optf.cubin
//# Link: no-input.cubin =
//# ExpectExit: 1
//# ExpectText: fatal   : No input files specified; use option --help for more information
//# CompareText
//# Link: missing-input.cubin = nofile.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Could not open input file 'nofile.cubin'
//# CompareText
//# Link: header-only.cubin = trunc.cubin
//# ExpectExit[100+]: crash
//# Link: cut-off.cubin = trunc2.cubin
//# ExpectExit[100+]: crash
//# Link: empty-input.cubin = empty.cubin
//# Link: text-input.cubin = text.txt
//# ExpectExit: 1
//# ExpectText: fatal   : Could not open input file 'text.txt'
//# CompareText
//# Link: whole-program.cubin = whole.cubin
//# Link: whole-program-and-undefined.cubin = whole.cubin a.cubin
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_Z6helperfi' in 'a.cubin'
//# CompareText
//# LinkExactly: no-arch = a.cubin -o o.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Unknown arch name '(null)'
//# CompareText
//# LinkExactly: unknown-arch = -arch=sm_11 a.cubin -o o.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Value 'sm_11' is not defined for option 'arch'
//# CompareText
//# LinkExactly: virtual-arch = -arch=compute_{sm} a.cubin -o o.cubin
//# ExpectExit[100+]: 1
//# ExpectText[100+]: fatal   : specified arch exceeds buffer length
//# CompareText
//# Link: unknown-option = -badopt a.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Unknown option 'badopt'
//# CompareText
//# Link: unwritable-output-and-undefined = a.cubin -o /nonexistent/o.cubin
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_Z6helperfi' in 'a.cubin'
//# CompareText
//# Link: machine-32 = -m32 a.cubin -o o.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Value '32' is not defined for option 'machine'
//# CompareText
//# Link: lto-without-nvvm = -lto a.cubin -o o.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : -nvvmpath should be specified with -lto
//# CompareText
//# Link: linker-script-with-input = -ghls=lcs-abs a.cubin -o o.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Input files are not allowed with -ghls option; use --help for more information
//# CompareText
//# Link: linker-script-to-stdout = -ghls=lcs-aug
//# CompareText
//# LinkExactly: implied-script = -ghls -shared
//# CompareText
//# LinkExactly: implied-script-and-unknown = -ghls -foo
//# ExpectExit: 1
//# ExpectText: fatal   : Unknown option 'foo'
//# CompareText
//# LinkExactly: other-script = -ghls lcs-aug --gen-host-linker-script
//# CompareText
//# LinkExactly: implied-speed = -Ofc -arch=sm_{sm} a.cubin -o o.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Conflicting options '--Ofast-compile' and 'no -dlto'
//# CompareText
//# LinkExactly: other-speed = -Ofc -Ofc=min -Ofc=min --Ofast-compile
//# ExpectExit: 1
//# ExpectText: warning : incompatible redefinition for option 'Ofast-compile', the last value of this option was used
//# CompareText
//# Patch: first.cubin = a.cubin 0x31 01
//# Patch: none.cubin = a.cubin 0x31 00
//# Link: other-processor.cubin = first.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Input file 'first.cubin' arch does not match target 'sm_{sm}'
//# CompareText
//# Link: no-processor.cubin = none.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Unknown arch name 'sm_0'
//# CompareText
//# Link: linker-script-to-file = -ghls=lcs-abs -o ghls.ld
//# Link: folder-uidx = -uidx . a.cubin -o o.cubin
//# ExpectExit: 1
//# CompareText
//# Link: missing-uidx = -uidx nofile a.cubin -o o.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Could not open input file 'nofile'
//# CompareText
//# Link: same-input-twice.cubin = a.cubin a.cubin
//# ExpectExit: 1
//# ExpectText: error   : Multiple definition of '_Z2k1Pfi' in 'a.cubin', first defined in 'a.cubin'
//# ExpectText: error   : Multiple definition of 'g_count' in 'a.cubin', first defined in 'a.cubin'
//# ExpectText: error   : Multiple definition of 'g_zero' in 'a.cubin', first defined in 'a.cubin'
//# ExpectText: error   : Multiple definition of 'coef' in 'a.cubin', first defined in 'a.cubin'
//# ExpectText: fatal   : merge_elf failed
//# CompareText
//# Link: relocatable-with-debug.cubin = -r -g a.cubin
//# Link: missing-options-file = -optf nofile a.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Could not open options file 'nofile'
//# CompareText
//# LinkExactly: options-file = -optf opts.txt
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_Z6helperfi' in 'a.cubin'
//# CompareText
//# Link: maxrregcount.cubin = -maxrregcount=32 a.cubin whole.cubin
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_Z6helperfi' in 'a.cubin'
//# CompareText
//# Link: emit-ptx-without-lto.cubin = -Xptxas -v -emit-ptx whole.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Conflicting options '-emit-ptx' and 'no -dlto'
//# CompareText
//# Link: time-nowhere.cubin = --time nowhere/table -preserve-relocs missing.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Cannot open file 'nowhere/table'
//# CompareText
//# Link: time-of-nothing.cubin = --time table whole.cubin -nv-host missing
//# ExpectExit: 1
//# ExpectFile: table
//# CompareText
//# Link: older-api.cubin = -cuda-api-version=-1.0 whole.cubin
//# ExpectExit: 1
//# ExpectText: major number must be == toolkit version
//# CompareText
//# Link: spaced-api.cubin = "-cuda-api-version= 13. +0" whole.cubin
//# Write: text.nvvm = a text of more than fifty bytes, which is as much as nvlink reads first
//# Link: nvvm.cubin = whole.cubin text.nvvm
//# ExpectExit: 1
//# ExpectText: fatal   : should only see nvvm files when -lto
//# CompareText
//# Link: nothing-to-optimize.cubin = -lto -nvvmpath={lib}/../nvvm -Werror a.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : merge_elf failed
//# CompareText
//# Patch: object.nvvm = whole.cubin 0 7f
//# Patch: object.bc = whole.cubin 0 7f
//# For: END = nvvm bc
//# Link: named-{END}.cubin = whole.cubin object.{END}
//# ExpectExit: 1
//# CompareText
//# Link: optimized-{END}.cubin = -lto -nvvmpath={lib}/../nvvm -L{lib} -lcudadevrt whole.cubin object.{END}
//# ExpectExit: 1
//# CompareText
//# Link: names-nowhere.cubin = whole.cubin --register-link-binaries=nowhere/names.h
//# ExpectExit: 1
//# ExpectFile: names-nowhere.cubin
//# CompareText
//# Link: time-to-stdout.cubin = --time - whole.cubin
//# CompareText
//# Link: no-output = whole.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Must specify output file with -o option
//# CompareText
//# Link: version = -V
//# ExpectText: Cuda linker
//# Link: option-without-value.cubin = -device-stack-protector whole.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : 'whole.cubin': expected true or false
//# CompareText
//# Link: fast-compile.cubin = --Ofast-compile=min whole.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Conflicting options '--Ofast-compile' and 'no -dlto'
//# CompareText
//# Link: report-arch.cubin = -report-arch nofile.cubin whole.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Could not open input file 'nofile.cubin' (target: sm_{sm})
//# CompareText
//# Link: split-compile.cubin = -split-compile 4 whole.cubin
__device__ int g_count = 7;
__device__ int g_zero[5];
__constant__ float coef[4] = {1,2,3,4};
extern __device__ float helper(float x, int n);
__global__ void k1(float*p,int n){ __shared__ float s[64]; int i=threadIdx.x; s[i]=p[i]; __syncthreads(); p[i]=helper(s[63-i],n)+coef[n&3]+g_count+g_zero[n]; }
