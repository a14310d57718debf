//# Shows: what the next instruction of a kind overwrites is read by then, without a wait: operands of shuffles, of functions, of conversions and of loads from local memory, which go through queues; loops wait for texels that are under way around them; functions come later behind what a warp makes
//# Archs: 100 120
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# Link: debugged.cubin = -g a.cubin
//# Link[100]: slow.cubin = -arch=sm_103 a.cubin

// Passes values on to other threads and to other places at once.
template <int N, int STEP> __device__ void pass_on(float (&v)[N], int distance)
{
    float moved[N];
#pragma unroll
    for (int i = 0; i < N; i++) moved[i] = __shfl_down_sync(0xffffffffu, v[(i * STEP + 1) % N], distance);
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = moved[i];
}

template <int N, int STEP> __device__ void rotate(float *out, const float *in, int count, const float *more)
{
    float v[N];
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = in[threadIdx.x * N + i];
    if (lane < count) {
#pragma unroll
        for (int i = 0; i < N; i++) v[i] += more[i];
    }
    pass_on<N, STEP>(v, 1);
    if (lane + 2 < count) {
#pragma unroll
        for (int i = 0; i < N; i++) v[i] *= more[N + i];
    }
    pass_on<N, STEP>(v, 2);
    if (lane + 4 < count) {
#pragma unroll
        for (int i = 0; i < N; i++) v[i] -= more[2 * N + i];
    }
    pass_on<N, STEP>(v, 4);
#pragma unroll 1
    for (int round = 0; round < count; round++) pass_on<N, STEP>(v, round);
#pragma unroll
    for (int i = 0; i < N; i++) out[threadIdx.x * N + i] = v[i];
}
extern "C" __global__ void rotate_9(float *out, const float *in, int count, const float *more) { rotate<9, 3>(out, in, count, more); }
extern "C" __global__ void rotate_17(float *out, const float *in, int count, const float *more) { rotate<17, 3>(out, in, count, more); }
extern "C" __global__ void rotate_28(float *out, const float *in, int count, const float *more) { rotate<28, 3>(out, in, count, more); }

template <class T, int N, class F> __device__ void apply(T *out, const T *in, int count, F f)
{
    T v[N];
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = in[threadIdx.x * N + i];
    if (int(threadIdx.x) < count) {
#pragma unroll
        for (int i = 0; i < N; i++) v[i] = v[i] + in[i * 64];
    }
#pragma unroll 1
    for (int round = 0; round < count; round++) {
        T w[N];
#pragma unroll
        for (int i = 0; i < N; i++) w[i] = f(v[(i * 5 + 1) % N]);
        if (round & 1) {
#pragma unroll
            for (int i = 0; i < N; i++) w[i] = f(w[i]);
        }
#pragma unroll
        for (int i = 0; i < N; i++) v[i] = w[i];
    }
#pragma unroll
    for (int i = 0; i < N; i++) out[threadIdx.x * N + (i * 3) % N] = v[i];
}
struct Reciprocal { __device__ float operator()(float x) const { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; } };
struct Floor { __device__ float operator()(float x) const { return floorf(x); } };
struct Mixed { __device__ float operator()(float x) const { return float(int(x)) ; } };
struct Wide { __device__ double operator()(double x) const { return floor(x); } };
struct Longs { __device__ double operator()(double x) const { return double((long long)x); } };
struct Bits { __device__ int operator()(int x) const { return __popc(x) ; } };
extern "C" __global__ void reciprocal_8(float *out, const float *in, int count) { apply<float, 8>(out, in, count, Reciprocal{}); }
extern "C" __global__ void mixed_8(float *out, const float *in, int count) { apply<float, 8>(out, in, count, Mixed{}); }
extern "C" __global__ void wide_8(double *out, const double *in, int count) { apply<double, 8>(out, in, count, Wide{}); }
extern "C" __global__ void longs_8(double *out, const double *in, int count) { apply<double, 8>(out, in, count, Longs{}); }
extern "C" __global__ void bits_8(int *out, const int *in, int count) { apply<int, 8>(out, in, count, Bits{}); }
extern "C" __global__ void reciprocal_13(float *out, const float *in, int count) { apply<float, 13>(out, in, count, Reciprocal{}); }
extern "C" __global__ void mixed_13(float *out, const float *in, int count) { apply<float, 13>(out, in, count, Mixed{}); }
extern "C" __global__ void wide_13(double *out, const double *in, int count) { apply<double, 13>(out, in, count, Wide{}); }
extern "C" __global__ void longs_13(double *out, const double *in, int count) { apply<double, 13>(out, in, count, Longs{}); }
extern "C" __global__ void bits_13(int *out, const int *in, int count) { apply<int, 13>(out, in, count, Bits{}); }

struct Matrix { float m[36]; };
// The sum of a block: warps by shuffles, then their sums through shared memory.
template <class T, int N, int WARPS> __device__ void block_sum(T *out, const T *in, int count, T first)
{
    __shared__ T sums[WARPS];
    float v[N];
    int thread = threadIdx.x;
    const float *own = (const float *)(in + thread);
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = thread < count ? own[i] : 0.f;
    for (int at = thread + WARPS * 32; at < count; at += WARPS * 32) {
        const float *other = (const float *)(in + at);
#pragma unroll
        for (int i = 0; i < N; i++) v[i] += other[i];
    }
    int lane = thread % 32, last = min(count, WARPS * 32) - thread / 32 * 32 - 1;
    if (count >= WARPS * 32) last = 31;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        float other[N];
#pragma unroll
        for (int i = 0; i < N; i++) other[i] = __shfl_down_sync(0xffffffffu, v[i], distance, 32);
        if (lane + distance <= last) {
#pragma unroll
            for (int i = 0; i < N; i++) v[i] += other[i];
        }
    }
    if (lane == 0) {
#pragma unroll
        for (int i = 0; i < N; i++) ((float *)&sums[thread / 32])[i] = v[i];
    }
    __syncthreads();
    if (thread == 0) {
#pragma unroll
        for (int w = 1; w < WARPS; w++) {
            if (w * 32 < count) {
#pragma unroll
                for (int i = 0; i < N; i++) v[i] += ((float *)&sums[w])[i];
            }
        }
#pragma unroll
        for (int i = 0; i < N; i++) ((float *)out)[i] = v[i] + ((float *)&first)[i];
    }
}
extern "C" __global__ void __launch_bounds__(128) matrices(Matrix *out, const Matrix *in, int count, Matrix first) { block_sum<Matrix, 36, 4>(out, in, count, first); }

// Conversions whose operands die at once.
template <class To, class From> __device__ void convert(To *out, const From *in, int from, int stride, int count)
{
    From value[8];
#pragma unroll
    for (int i = 0; i < 8; i++) value[i] = from + i < count ? in[(from + i) * stride] : From(0);
    To converted[8];
#pragma unroll
    for (int i = 0; i < 8; i++) converted[i] = To(value[i]);
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (from + i < count) out[from + i] = converted[i];
}

#define CONVERT(name, To, From)                                                                                       \
    extern "C" __global__ void name(To *out, const From *in, int stride, int count)                                   \
    {                                                                                                                 \
        convert(out, in, int(blockIdx.x * blockDim.x + threadIdx.x) * 8, stride, count);                              \
    }
CONVERT(floats_to_doubles, double, float)
CONVERT(doubles_to_longs, unsigned long long, double)
CONVERT(floats_to_longs, long long, float)
CONVERT(longs_to_floats, float, long long)
CONVERT(ints_to_doubles, double, int)
CONVERT(doubles_to_floats, float, double)

// An array in local memory, followed through.
extern "C" __global__ void followed(int *out, const int *in, int count)
{
    int next[64];
    for (int i = 0; i < 64; i++) next[i] = in[threadIdx.x * 64 + i] & 63;
    int at[8];
#pragma unroll
    for (int i = 0; i < 8; i++) at[i] = i;
    for (int round = 0; round < count; round++) {
#pragma unroll
        for (int i = 0; i < 8; i++) at[i] = next[at[i]];
        next[round & 63] = at[0] ^ at[7];
    }
#pragma unroll
    for (int i = 0; i < 8; i++) out[threadIdx.x * 8 + i] = at[i];
}

// Reciprocals of what all threads of a warp have in common, of which one is needed in a loop only.
template <int N, int REACH> __device__ void smooth(float *out, const float *in, size_t pitch, int width, int height, size_t rows, float space, float tone, const float *weights)
{
    __shared__ float line[N * 64];
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (rows == 0) return;
    float in_space = 1.0f / (2.0f * space * space), in_tone = 1.0f / (2.0f * tone * tone);
    for (size_t y = 0; y < rows; y++) {
        const float *row = in + y * pitch;
        line[threadIdx.x] = row[x];
        line[threadIdx.x + 32] = row[x + 32];
        __syncthreads();
        float sum = 0, all = 0;
        for (int i = -REACH; i <= REACH; i++) {
            float there = line[threadIdx.x + REACH + i], here = line[threadIdx.x + REACH];
            float weight = __expf(-float(i * i) * in_space - (there - here) * (there - here) * in_tone);
            sum += weight * there * weights[i + REACH];
            all += weight;
        }
        if (x < width && int(y) < height) out[y * pitch + x] = sum / all;
        __syncthreads();
    }
}
extern "C" __global__ void smooth_3(float *out, const float *in, size_t pitch, int width, int height, size_t rows, float space, float tone, const float *weights) { smooth<3, 3>(out, in, pitch, width, height, rows, space, tone, weights); }

// Texels that are under way while loops pass.
template <int N> __device__ void around(float *out, cudaTextureObject_t t, const float *weights, float **rows, int count, int height)
{
    float x = threadIdx.x + 0.5f, texel[N];
    float *row = rows[threadIdx.y];
#pragma unroll
    for (int i = 0; i < N; i++) texel[i] = tex2D<float>(t, x + i, threadIdx.y + 0.5f);
    for (int i = 0; i < count; i++) {
        out[i * height] = row[i];
        row = rows[i];
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N; i++) sum += texel[i] * weights[i];
    out[threadIdx.x] = sum;
}
#define AROUND(n) extern "C" __global__ void around_##n(float *out, cudaTextureObject_t t, const float *weights, float **rows, int count, int height) { around<n>(out, t, weights, rows, count, height); }
AROUND(4)
AROUND(12)
// The same, of which some are needed in the loop.
template <int N, int M> __device__ void partly(float *out, cudaTextureObject_t t, const float *weights, int count, int height)
{
    float x = threadIdx.x + 0.5f, texel[N];
#pragma unroll
    for (int i = 0; i < N; i++) texel[i] = tex2D<float>(t, x + i, threadIdx.y + 0.5f);
    float sum = 0;
    for (int i = 0; i < count; i++) {
        float *row = out + i * height;
#pragma unroll
        for (int j = 0; j < M; j++) row[j] = texel[j] + weights[i];
    }
#pragma unroll
    for (int i = 0; i < N; i++) sum += texel[i] * weights[i];
    out[threadIdx.x] = sum;
}
#define PARTLY(n, m) extern "C" __global__ void partly_##n##_##m(float *out, cudaTextureObject_t t, const float *weights, int count, int height) { partly<n, m>(out, t, weights, count, height); }
PARTLY(8, 3)
PARTLY(12, 2)
