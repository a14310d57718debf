//# Shows: a relocatable link names the size of the program's constants once, whichever files ask for it
//# Compile: a.cu -G
//# Compile: b.cu -G
//# Compile: c.cu -G
//# Link: joined.cubin = -r a.cubin b.cubin c.cubin
//# Link: reversed.cubin = -r c.cubin b.cubin a.cubin
//# Link: out.cubin = -g a.cubin b.cubin c.cubin
//# Link: again.cubin = -g joined.cubin
__constant__ int table[7] = {1, 2, 3};
__global__ void first(int *p) { p[0] = __isConstant(p) + table[p[1]]; }
