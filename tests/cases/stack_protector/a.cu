//# Shows: functions that check their stack (--device-stack-protector), beside others that need not
//# For: O = -O2 -G
//# Compile: a{O}.cubin = a.cu -device-stack-protector=true {O}
//# Compile: b{O}.cubin = b.cu -device-stack-protector=true {O}
//# Link: out{O}.cubin = a{O}.cubin b{O}.cubin
//# Link: debug{O}.cubin = -g a{O}.cubin b{O}.cubin
//# Link: joined{O}.cubin = -r a{O}.cubin b{O}.cubin
//# Link: again{O}.cubin = joined{O}.cubin
//# Link: graph{O}.cubin = -dump-callgraph a{O}.cubin b{O}.cubin
//# CompareText
__device__ int summed(const char *text, int count);

__global__ void k(const char *in, int *out, int count) {
    char text[64];
    for (int i = 0; i < count; i++) text[i] = in[i];
    *out = summed(text, count);
}
