//# Shows: register counts: launch_bounds, -maxrregcount objects, callee needing more registers
//# Compile: a.cu
//# Compile: b32.cubin = b.cu -maxrregcount=32
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b32.cubin
//# CompareText
//# Link: out2.cubin = -v a.cubin b.cubin
//# ExpectExit: 255
//# ExpectText[75 80]: error   : entry function '_Z2k1Pf' with max regcount of 64 calls function '_Z5heavyPKfi' with regcount of 142
//# ExpectText[90+]: error   : entry function '_Z2k1Pf' with max regcount of 64 calls function '_Z5heavyPKfi' with regcount of 148
//# CompareText
extern __device__ float heavy(const float*,int); __global__ void __launch_bounds__(1024,1) k1(float*p){ p[0]=heavy(p,3); } __global__ void __launch_bounds__(64) k2(float*p){ p[0]=heavy(p,4); }
