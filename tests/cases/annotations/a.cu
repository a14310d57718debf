//# Shows: what ptxas notes of loops and functions names places in the code, which follow it where it moves
//# Archs: 90 100 120
//# Compile: a.cu -Xptxas -annotate
//# Link: out.cubin = a.cubin
//# Link: debuggers.cubin = -g a.cubin
__global__ void loops(int *p, int n) {
    if (p[0] == 3) return;
    for (int i = n; i > p[i]; i = p[i + 1]) p[i] = i;
    __threadfence();
    for (int i = 0; i < n; i++) { __syncthreads(); p[i] += p[i + 1]; }
}
// Spilled registers, too.
__global__ void __launch_bounds__(1024, 2) spills(float *p, int n) {
    float v[40];
    #pragma unroll
    for (int i = 0; i < 40; i++) v[i] = p[threadIdx.x + i * n];
    __threadfence();
    #pragma unroll 1
    for (int j = 0; j < n; j++) {
        #pragma unroll
        for (int i = 0; i < 40; i++) v[i] = v[i] * v[(i + 7) % 40] + p[j];
    }
    #pragma unroll
    for (int i = 0; i < 40; i++) p[threadIdx.x + i * n] = v[i];
}
