//# Shows: -v and -dump-callgraph tell of failing links, too, and what the stacks lack comes before other errors
//# Compile: a.cu
//# Compile: recursive.cu
//# Compile: large.cu
//# Compile: shared.cu
//# Link: undefined.cubin = -v -dump-callgraph a.cubin recursive.cubin
//# ExpectExit: 255
//# CompareText
//# Link: registers.cubin = -v -dump-callgraph a.cubin recursive.cubin large.cubin
//# ExpectExit: 255
//# CompareText
//# Link: shared.cubin = -v -dump-callgraph a.cubin shared.cubin
//# ExpectExit: 255
//# CompareText
//# Link: joined-constants.cubin = -r -v -dump-callgraph large.cubin shared.cubin
//# ExpectExit: 255
//# CompareText
//# For: O = g preserve-relocs
//# Link: constants-{O}.cubin = -v -dump-callgraph -{O} large.cubin shared.cubin
//# ExpectExit: 255
//# CompareText
//# Link: constants.cubin = -v -dump-callgraph large.cubin shared.cubin
//# ExpectExit: 255
//# CompareText
extern __device__ float heavy(const float*,int); extern __device__ int recursive(int); extern __device__ int more(int);
__global__ void __launch_bounds__(1024,1) few(float*p){ p[0]=heavy(p,3); }
__global__ void framed(int*p){ int own[40]; for(int i=0;i<40;i++) own[i]=p[i]; p[0]=recursive(own[p[1]])+own[p[2]&31]; }
__global__ void uses(int*p){ p[0]=more(p[1]); }
