//# Shows: with -g reports of errors start when the first of two predicates of an EXIT is there, and the time that the second takes passes behind them
//# Archs: 100 103 120
//# Compile: a.cu
//# Compile: b.cu
//# Compile: slow.cubin = b.cu -Xptxas=-O1
//# Link: out.cubin = -g a.cubin b.cubin
//# Link: slow-out.cubin = -g a.cubin slow.cubin
//# Link: joined.cubin = -r -g a.cubin b.cubin
//# Link: restored.cubin = joined.cubin
//# Link: again.cubin = -g joined.cubin
//# Compile: stores.cubin = stores.ptx
//# Link: stores-out.cubin = -g stores.cubin
__device__ int ask(int n) { return n*n; }
