//# Shows: arithmetic on uniform floats waits for the register it adds, which stands in another place than what is multiplied; barriers for numbers and counts in registers, and mbarriers for where they are
//# Archs: 100 120
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# Link: debug.cubin = -g a.cubin
__constant__ float table[64];
// What is added comes from memory in every round, the sum is there.
extern "C" __global__ void sums(float *out, const float *in, float a, float b, int n) {
    float x = a - b;
    for (int i = 0; i < n; i++) x += table[i];
    out[threadIdx.x] = x * in[threadIdx.x];
}
extern "C" __global__ void fused(float *out, const float *in, float a, float b, int n) {
    float x = a - b;
    for (int i = 0; i < n; i++) x = fmaf(x, b, table[i]);
    out[threadIdx.x] = x * in[threadIdx.x];
}
// Numbers and counts of barriers that come from memory.
extern "C" __global__ void barriers(int *out, const int *numbers, int n) {
    int which = numbers[threadIdx.x];
    asm volatile("barrier.sync %0;" ::"r"(which) : "memory");
    int next = numbers[threadIdx.x + 32];
    asm volatile("barrier.arrive %0, 64;" ::"r"(next) : "memory");
    int count = numbers[threadIdx.x + 64];
    asm volatile("barrier.sync 3, %0;" ::"r"(count) : "memory");
    out[threadIdx.x] = which;
    out[threadIdx.x + 32] = next + count;
}
// Places of mbarriers that do.
extern "C" __global__ void arrivals(unsigned long long *states, const unsigned *places, int n) {
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(places[threadIdx.x]) : "memory");
    states[threadIdx.x] = state;
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(places[n]) : "memory");
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(places[n + 32]) : "memory");
    states[threadIdx.x + 32] = state;
}
// Who is elected, and the threads beside.
extern "C" __global__ void elected(unsigned *out, const unsigned *in) {
    unsigned who;
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; }" : "=r"(who));
    out[threadIdx.x] = in[who];
}
