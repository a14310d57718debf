//# Shows: code that reports errors before it ends, for debuggers or because its compiler was asked to, does so in device functions too, and kernels that call nothing and write to no surface lose their memory barrier there
//# Archs: 90 100 103 120
//# Compile: a.cu
//# Compile: visible.cubin = a.cu -Xptxas --make-errors-visible-at-exit
//# Compile: b.cu
//# Compile: debug.cubin = b.cu -G
//# Link: plain.cubin = a.cubin b.cubin
//# Link: debuggers.cubin = -g a.cubin b.cubin
//# Link: variables.cubin = a.cubin debug.cubin
//# Link: kept.cubin = -r a.cubin debug.cubin
//# Link: made.cubin = visible.cubin b.cubin
//# Link: made-debuggers.cubin = -g visible.cubin b.cubin
//# Link: made-variables.cubin = visible.cubin debug.cubin
//# Link: made-kept.cubin = -r visible.cubin b.cubin
//# Link: made-again.cubin = made-kept.cubin
//# Compile: c.cu
//# Link: made-all.cubin = visible.cubin b.cubin c.cubin
//# Compile: slow.cubin = a.cu -Xptxas -O0
//# Link: slow-debuggers.cubin = -g slow.cubin b.cubin
//# Link: joined.cubin = -r -g a.cubin b.cubin
//# Link: restored.cubin = joined.cubin
//# Compile: surfaces.cubin = surfaces.cu -Xptxas --make-errors-visible-at-exit
//# Link: surfaces.out.cubin = surfaces.cubin
//# Link: surfaces-variables.cubin = surfaces.cubin debug.cubin
//# Compile: plain-surfaces.cubin = surfaces.cu
//# Link: plain-surfaces-variables.cubin = plain-surfaces.cubin debug.cubin
__device__ int other(int);
__device__ __noinline__ int ends(int *p, int n) { if (p[n] > 3) asm volatile("exit;"); return p[n + 1]; }
__device__ __noinline__ int calls(int *p, int n) { int v = other(n); if (p[v] > 3) asm volatile("exit;"); return p[v + 1]; }
__global__ void ends_there(int *p, int n) { p[0] = ends(p, n); }
__global__ void ends_far(int *p, int n) { p[0] = calls(p, n); }
__global__ void ends_here(int *p, int n) { if (p[n] == 4) asm volatile("exit;"); p[0] = n; }
__global__ void ends_for_some(int *p, int n)
{
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 5; @p exit; }" ::"r"(n));
    p[0] = n;
}
