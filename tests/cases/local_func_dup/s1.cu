//# Shows: ptxas-made local functions with the same name (trig slow path) in two TUs: two sections of one name, live and dead copies
//# Compile: s1.cu
//# Compile: s2.cu
//# Compile: s3.cu
//# Link: out.cubin = s1.cubin s2.cubin
//# Link: out2.cubin = s2.cubin s1.cubin
//# Link: out3.cubin = s3.cubin s1.cubin
//# Link: joined.cubin = -r s1.cubin s2.cubin s3.cubin
//# Link: again.cubin = joined.cubin
//# Link: again-joined.cubin = -r joined.cubin
//# Link: again-recorded.cubin = -preserve-relocs joined.cubin
#include <cmath>
__global__ void k1(unsigned*o,unsigned x){ *o=(unsigned)sin((double)x); }
