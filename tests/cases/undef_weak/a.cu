//# Shows: undefined function/variable references patched to WEAK binding (binary edit): unresolved weak handling
//# Compile: a.cu
//# Weaken: wf.cubin = a.cubin _Z1fi
//# Weaken: wv.cubin = a.cubin v
//# Weaken: w.cubin = a.cubin _Z1fi v
//# Link: out.cubin = w.cubin
//# ExpectExit[100+]: 255
//# ExpectText[100+]: error   : Undefined reference to '_Z1fi' in 'w.cubin'
//# ExpectText[100+]: error   : Undefined reference to 'v' in 'w.cubin'
//# CompareText
//# Link: out2.cubin = wf.cubin
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to 'v' in 'wf.cubin'
//# ExpectText[100+]: error   : Undefined reference to '_Z1fi' in 'wf.cubin'
//# CompareText
//# Link: out3.cubin = wv.cubin
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_Z1fi' in 'wv.cubin'
//# ExpectText[100+]: error   : Undefined reference to 'v' in 'wv.cubin'
//# CompareText
extern __device__ int v; extern __device__ int f(int x); __global__ void k1(int*p){*p=f(*p)+v;}
