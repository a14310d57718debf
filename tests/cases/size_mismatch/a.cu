//# Shows: extern declaration with another size or alignment; function with other prototype
//# Compile: a.cu
//# Compile: b.cu
//# Compile: c.ptx
//# Compile: d.ptx
//# Link: out.cubin = a.cubin b.cubin c.cubin
//# ExpectExit: 1
//# ExpectText: error   : Size doesn't match for 'v' in 'b.cubin', first specified in 'a.cubin'
//# ExpectText: fatal   : merge_elf failed
//# CompareText
//# Link: out2.cubin = c.cubin b.cubin a.cubin
//# ExpectExit: 1
//# ExpectText: error   : Size doesn't match for 'v' in 'a.cubin', first specified in 'b.cubin'
//# ExpectText: error   : Prototype doesn't match for '_Z1fii' in 'a.cubin', first defined in 'c.cubin'
//# ExpectText: fatal   : merge_elf failed
//# CompareText
//# Link: out3.cubin = -extrawarn a.cubin b.cubin c.cubin
//# ExpectExit: 1
//# ExpectText: error   : Size doesn't match for 'v' in 'b.cubin', first specified in 'a.cubin'
//# ExpectText: fatal   : merge_elf failed
//# CompareText
//# Link: out4.cubin = a.cubin b.cubin d.cubin
//# ExpectExit: 1
//# ExpectText: error   : Size doesn't match for 'v' in 'b.cubin', first specified in 'a.cubin'
//# ExpectText: fatal   : merge_elf failed
//# CompareText
//# Link: out5.cubin = d.cubin a.cubin b.cubin
//# ExpectExit: 1
//# ExpectText: error   : Memory space doesn't match for '_Z1fii' in 'a.cubin', first specified in 'd.cubin'
//# ExpectText: fatal   : Internal error: no callgraph node
//# CompareText
//# Compile: tentative.ptx
//# Compile: kernels.ptx
//# Link: tentative-out.cubin = tentative.cubin a.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Internal error: no callgraph node
//# CompareText
//# Link: tentative-known.cubin = kernels.cubin tentative.cubin a.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : merge_elf failed
//# CompareText
extern __device__ int v[4]; extern __device__ int f(int,int); __global__ void k(int*p){ *p=v[3]+f(1,2); }
