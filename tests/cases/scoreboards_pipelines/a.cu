//# Shows: loops in a pipeline that load matrices from shared memory and multiply them: loads that a stage of the loop needs share a scoreboard, the first thing in the loop joins what was left of reading operands before it and waits for that, and what passes the time behind the loop's branch stands before it
//# Archs: 100 120
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# Link: debugged.cubin = -g a.cubin
//# Link: kept.cubin = -preserve-relocs a.cubin
//# Link[100]: slow.cubin = -arch=sm_103 a.cubin

__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ void load(unsigned (&matrices)[4], const void *place) {
    unsigned address = (unsigned)__cvta_generic_to_shared(place);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(address));
}

/// SUMS products for each of STEPS parts; the next buffer comes at a step, and with FETCHES from global memory.
template <int SUMS, int STEPS, int STEP, bool FETCHES> __device__ void products(const uint4 *a, float *c, int n) {
    __shared__ uint4 buffers[4][256];
    float sums[SUMS][4] = {};
    unsigned left[2][4], right[2][4];
    buffers[0][threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    load(left[0], &buffers[0][threadIdx.x]);
    load(right[0], &buffers[0][threadIdx.x ^ 32]);
    int now = 0;
#pragma unroll 1
    for (int t = 1; t < n; t++) {
        uint4 next;
        if (FETCHES) next = a[t * 256 + threadIdx.x];
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            if (k == STEP) {
                if (FETCHES) buffers[now ^ 1][threadIdx.x] = next;
                __syncthreads();
                now = FETCHES ? now ^ 1 : now + 1 & 3;
            }
            load(left[k + 1 & 1], &buffers[now][threadIdx.x + (k + 1) % STEPS * 8]);
            load(right[k + 1 & 1], &buffers[now][threadIdx.x ^ (k + 1) % STEPS]);
            for (int i = 0; i < SUMS; i++) {
                unsigned b[2] = {right[k & 1][i & 3], right[k & 1][i + 1 & 3]};
                multiply(sums[i], left[k & 1], b);
            }
        }
    }
    for (int i = 0; i < SUMS; i++)
        for (int j = 0; j < 4; j++) c[(i * 4 + j) * 256 + threadIdx.x] = sums[i][j];
}

#define KERNELS(SUMS, STEPS, STEP) \
    __global__ void fetch_##SUMS##_##STEPS##_##STEP(const uint4 *a, float *c, int n) { \
        products<SUMS, STEPS, STEP, true>(a, c, n); \
    } \
    __global__ void stay_##SUMS##_##STEPS##_##STEP(const uint4 *a, float *c, int n) { \
        products<SUMS, STEPS, STEP, false>(a, c, n); \
    }
KERNELS(3, 2, 0)
KERNELS(3, 3, 1)
KERNELS(4, 2, 0)
KERNELS(4, 4, 1)
KERNELS(4, 4, 3)
KERNELS(5, 3, 0)
KERNELS(5, 4, 2)
KERNELS(6, 3, 2)
KERNELS(8, 2, 1)
KERNELS(8, 4, 0)
