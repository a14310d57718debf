// A load that happens if a predicate holds, and its register written if it does not: no wait, but time passes.
__global__ void either(int *out, int turns, int step)
{
    __shared__ int tile[2048];
    unsigned at = threadIdx.x * 16;
    int mark = turns;
    double x = turns, y = step;
    for (int turn = 0; turn < turns; turn++) {
        unsigned found;
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(found) : "r"(at));
        asm volatile("add.s32 %0, %0, %1;" : "+r"(mark) : "r"(step));
        if (mark & 1) {
            at = out[mark];
            out[turn] = 7;
        } else {
            at += 16 * step;
        }
        x = fma(x, y, x);
        y = fma(y, x, x);
        __syncthreads();
        out[turn + mark] = found;
    }
    ((double *)out)[turns] = x;
    out[0] = tile[mark & 2047];
}
