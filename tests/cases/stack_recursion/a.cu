//# Shows: recursive device function: stack size cannot be determined
//# Compile: a.cu
//# Compile: b.cu
//# Compile: c.cu
//# Link: out.cubin = a.cubin
//# ExpectText: warning : Stack size for entry function '_Z2k1Pi' cannot be statically determined
//# CompareText
//# Link: out2.cubin = b.cubin c.cubin
//# ExpectText: warning : Stack size for entry function '_Z2k2Pi' cannot be statically determined
//# CompareText
//# Link: out3.cubin = -suppress-stack-size-warning a.cubin
//# Link: out4.cubin = -w a.cubin
//# ExpectText: warning : Stack size for entry function '_Z2k1Pi' cannot be statically determined
//# CompareText
//# Link: out5.cubin = -Werror a.cubin
//# ExpectExit: 255
//# ExpectText: error   : Stack size for entry function '_Z2k1Pi' cannot be statically determined
//# CompareText
//# Link: out6.cubin = -v a.cubin b.cubin c.cubin
//# ExpectText: warning : Stack size for entry function '_Z2k1Pi' cannot be statically determined
//# ExpectText: warning : Stack size for entry function '_Z2k2Pi' cannot be statically determined
//# CompareText
//# Link: out7.cubin = -dump-callgraph a.cubin b.cubin c.cubin
//# ExpectText: warning : Stack size for entry function '_Z2k1Pi' cannot be statically determined
//# ExpectText: warning : Stack size for entry function '_Z2k2Pi' cannot be statically determined
//# CompareText
//# Link: out8.cubin = -extrawarn a.cubin
//# ExpectText: warning : Stack size for entry function '_Z2k1Pi' cannot be statically determined
//# CompareText
__device__ __noinline__ int fact(int n){ int a[8]; for(int i=0;i<8;i++)a[i]=n+i; return n<=1?a[n&7]:n*fact(n-1)+a[n&3]; }
__global__ void k1(int*p){ *p=fact(*p); }
