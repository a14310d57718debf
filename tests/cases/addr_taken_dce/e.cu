//# Shows: address-taken device functions: kept even when only dead code or data refers to them, but their callees are removed unless a kernel's indirect call matches the signature
//# Compile: e.cu
//# Link: out_e.cubin = e.cubin
//# ExpectSection: .text._Z2f0j
//# ExpectNoSection: .text._Z1gj
//# Compile: f.cu
//# Link: out_f.cubin = f.cubin
//# ExpectSection: .text._Z2f0j
//# ExpectNoSection: .text._Z1gj
//# Compile: g.cu
//# Link: out_g.cubin = g.cubin
//# ExpectSection: .text._Z2f0j
//# ExpectSection: .text._Z1gj
//# Compile: h.cu
//# Link: out_h.cubin = h.cubin
//# ExpectSection: .text._Z2f0j
//# ExpectNoSection: .text._Z1gj
__device__ __noinline__ unsigned g(unsigned x){return x*7+1;}
__device__ __noinline__ unsigned f0(unsigned x){return g(x)*3+g(x+1);}
__device__ unsigned (*tab)(unsigned)=f0;
__global__ void k(unsigned*o,unsigned x){*o=x;}
