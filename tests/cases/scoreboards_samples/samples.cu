//# Shows: results beside textures take all scoreboards but the last, threads that go one after another end a block, and the lesser of two numbers of 32 bits is not one of 64
//# Archs: 100 103 110 120 121
//# Compile: samples.cu
//# Link: out.cubin = samples.cubin
//# Link: debuggers.cubin = -g samples.cubin
__global__ void row(float *sums, unsigned pitch, int width, cudaTextureObject_t image)
{
    float *row = sums + blockIdx.x * pitch;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        row[i] = tex2D<float>(image, i, blockIdx.x);
}

__global__ void cells(unsigned *values, uint3 size, uint3 shift, uint3 mask, unsigned count, cudaTextureObject_t volume)
{
    unsigned block = blockIdx.y * gridDim.x + blockIdx.x, i = block * blockDim.x + threadIdx.x;
    unsigned x = min(i & mask.x, size.x - 1);
    unsigned y = min((i >> shift.y) & mask.y, size.y - 1);
    unsigned z = min((i >> shift.z) & mask.z, size.z - 1);
    float value = tex1Dfetch<float>(volume, z * size.x * size.y + y * size.x + x);
    if (i < count)
        values[i] = value;
}

__global__ void halves_of_warps(int *values)
{
    unsigned mask = 0xffffu << ((threadIdx.x & 31) & ~15);
    values[threadIdx.x] = __match_any_sync(mask, values[threadIdx.x] & 3);
}

__global__ void greater(const int *from, int *to, int count)
{
    if (threadIdx.x < count)
        to[threadIdx.x] = max(from[0], from[1]);
}
