//# Shows: what threads of different masks do one after another ends a block, but takes no cycle more for its scoreboard if nobody waits right behind it
//# Archs: 75 90 100 103 120
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# Link: debugged.cubin = a.cubin -g

__global__ void counts(const float *places, int *sums, int n, short *half) {
    int lane = threadIdx.x & 3;
    float at = places[threadIdx.x];
    bool is_inside = at > 0 && at < n;
    int own = is_inside ? (int)at : -1;
    short part = 0;
    if (is_inside) part = (short)(__sinf(at) * 100);
    unsigned same = __match_any_sync(0x11111111u << lane, own);
    bool is_first = (threadIdx.x & 31) == 31 - __clz(__brev(same));
    if (is_first && is_inside) sums[own] = __popc(same) + part;
    half[threadIdx.x] = part;
}
