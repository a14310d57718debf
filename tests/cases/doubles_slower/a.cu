//# Shows: code for sm_100 in a program for sm_103, where doubles take scoreboards and 64 cycles each, and powers of two half as long as other functions; what waits for them, who goes first meanwhile, and which operands are kept
//# Archs: 100
//# For: HOW = O3 lineinfo G
//# Compile: {HOW}.cubin = a.cu -{HOW}
//# Link: fast-{HOW}.cubin = {HOW}.cubin
//# Link: slow-{HOW}.cubin = -arch=sm_103 {HOW}.cubin
//# Link: debugged-{HOW}.cubin = -arch=sm_103 -g {HOW}.cubin
//# Link: kept-{HOW}.cubin = -arch=sm_103 -preserve-relocs {HOW}.cubin
//# Link: slow-joined-{HOW}.cubin = -arch=sm_103 -r {HOW}.cubin
//# Link: slow-again-{HOW}.cubin = -arch=sm_103 slow-joined-{HOW}.cubin
//# Link: fast-joined-{HOW}.cubin = -r {HOW}.cubin
//# Link: fast-then-slow-{HOW}.cubin = -arch=sm_103 fast-joined-{HOW}.cubin
//# Compile: matrices.cubin = matrices.cu
//# Link: matrices-slow.cubin = -arch=sm_103 matrices.cubin O3.cubin
//# Compile: counts.cubin = counts.cu
//# Link: counts-slow.cubin = -arch=sm_103 counts.cubin
//# Compile: fences.cubin = fences.cu
//# Link: fences-slow.cubin = -arch=sm_103 fences.cubin
//# Compile: fenced.cubin = fenced.ptx
//# Link: fenced-slow.cubin = -arch=sm_103 fenced.cubin
//# Compile: halves.cubin = halves.cu
//# Link: halves-slow.cubin = -arch=sm_103 halves.cubin
//# Link: halves-joined.cubin = -arch=sm_103 -r halves.cubin
//# Compile: choices.cubin = choices.cu
//# Link: choices-slow.cubin = -arch=sm_103 choices.cubin
//# Link: choices-joined.cubin = -arch=sm_103 -r choices.cubin
//# Compile: pipeline.cubin = pipeline.cu
//# Link: pipeline-slow.cubin = -arch=sm_103 pipeline.cubin
//# Compile: nested.cubin = nested.cu
//# Link: nested-slow.cubin = -arch=sm_103 nested.cubin
//# Compile: either.cubin = either.cu
//# Link: either-slow.cubin = -arch=sm_103 either.cubin
//# Compile: turns.cubin = turns.cu
//# Link: turns-slow.cubin = -arch=sm_103 turns.cubin
//# Compile: distances.cubin = distances.cu
//# Link: distances-slow.cubin = -arch=sm_103 distances.cubin
//# Compile: returns.cubin = returns.cu
//# Link: returns-slow.cubin = -arch=sm_103 returns.cubin
//# Compile: ends.cubin = ends.cu
//# Link: ends-slow.cubin = -arch=sm_103 ends.cubin
//# Compile: functions.cubin = functions.cu
//# Link: functions-slow.cubin = -arch=sm_103 functions.cubin
//# Compile: copies.cubin = copies.cu
//# Link: copies-slow.cubin = -arch=sm_103 copies.cubin
//# Compile: powers.cubin = powers.cu
//# Link: powers-slow.cubin = -arch=sm_103 powers.cubin
//# Compile: most.cubin = most.cu
//# Link: most-slow.cubin = -arch=sm_103 most.cubin
//# Compile: large.cubin = large.cu
//# Link: large-slow.cubin = -arch=sm_103 large.cubin
//# Compile: kept.cubin = kept.cu
//# Link: kept-slow.cubin = -arch=sm_103 kept.cubin
//# Compile: halves_kept.cubin = halves_kept.cu
//# Link: halves_kept-slow.cubin = -arch=sm_103 halves_kept.cubin
//# Compile: between.cubin = between.cu
//# Link: between-slow.cubin = -arch=sm_103 between.cubin
//# Compile: descending.cubin = descending.cu
//# Link: descending-slow.cubin = -arch=sm_103 descending.cubin

// One double behind another, one of which the other needs, and a choice by one of them.
__global__ void chooses(const double *a, double *b, int n) {
    double x = a[threadIdx.x], y = a[threadIdx.x + n];
    double z = x * y + 3.0;
    if (z > y) z = z * z - x;
    b[threadIdx.x] = z;
}

// Several at once, conversions, and those that two ways need.
__global__ void several(const double *a, double *b, float *f, int n) {
    double x = a[threadIdx.x], y = a[threadIdx.x + n];
    double z = x * y, w = x + y, v = __fma_rn(x, y, 3.0);
    b[threadIdx.x] = z * w;
    b[threadIdx.x + 1] = v;
    f[threadIdx.x] = (float)(x + 4.0);
    if (n > 5) {
        b[threadIdx.x + 77] = x * x;
        f[3] = (float)y;
    } else {
        b[5] = y + 5.0;
    }
}

// What branches, and ends of blocks, leave to others.
__global__ void branches(double *a, int n, long m) {
    double x = a[threadIdx.x], sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x;
        if (sum > 7.5) sum -= (double)i;
        if (sum != sum) sum = (double)m;
    }
    if (x > sum) a[threadIdx.x + 1] = -sum;
    a[threadIdx.x] = sum;
}

// Quotients and roots, which functions make.
__global__ void functions(double *a, unsigned long long *b) {
    a[threadIdx.x] = sqrt(a[threadIdx.x]) / a[threadIdx.x + 32];
    a[threadIdx.x + 64] = exp(a[threadIdx.x + 96]);
    b[threadIdx.x] = b[threadIdx.x + 32] / b[threadIdx.x + 64];
}

// Across a warp and a block, to memory for all.
__global__ void sums(const double *a, double *b, int n) {
    __shared__ double shared[32];
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += fabs(a[i]);
    for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(~0u, sum, lane);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        double greatest = shared[threadIdx.x];
        for (int lane = 16; lane; lane /= 2)
            greatest = fmax(greatest, __shfl_xor_sync(~0u, greatest, lane));
        if (threadIdx.x == 0) {
            atomicAdd(b, greatest);
            atomicAdd(&shared[1], greatest);
        }
    }
}

// Choices between numbers of which both halves are kept.
__global__ void pairs(const double2 *a, double2 *b, double limit) {
    double2 x = a[threadIdx.x], y = a[threadIdx.x + 32];
    double2 less = {fmin(x.x, y.x), fmin(x.y, y.y)}, more = {fmax(x.x, limit), fmax(y.y, limit)};
    b[threadIdx.x] = {x.x < limit ? less.x - more.y : more.y, y.x < limit ? less.y : more.x - less.x};
}

// Powers of two beside other functions of floats.
__global__ void powers(const float *a, float *b) {
    float4 v = *(const float4 *)(a + threadIdx.x * 4);
    v = {rsqrtf(v.x), __expf(v.y), __sinf(v.z), __log2f(v.w)};
    *(float4 *)(b + threadIdx.x * 4) = v;
    b[threadIdx.x + 99] = 1.f / (1.f + expf(-v.x)) + exp2f(v.y) * exp2f(v.z);
}

// No doubles at all.
__global__ void counts(unsigned *a) {
    unsigned same = __match_any_sync(~0u, a[threadIdx.x]);
    a[threadIdx.x] = __popc(same & ~a[threadIdx.x]) + (31 - __clz(same));
}
