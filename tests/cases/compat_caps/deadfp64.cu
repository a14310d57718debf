//# Shows: .nv.compat code 0x0b on sm_100: recomputed from the opcodes of live functions (FP64/IMMA/EX2 clear bit 3)
//# Compile: plain.cu
//# Compile: fp64.cu
//# Compile: deadfp64.cu
//# Link: out1.cubin = plain.cubin
//# Link: out2.cubin = fp64.cubin
//# Link: out3.cubin = deadfp64.cubin
//# Link: out4.cubin = plain.cubin fp64.cubin deadfp64.cubin
__device__ __noinline__ unsigned g(unsigned x){return (unsigned)((double)x*1.5+x);}
__global__ void k3(unsigned*o,unsigned x){ *o=x+1; }
