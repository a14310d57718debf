__device__ int table[4] = {5, 6, 7, 8};
__device__ float bias;
__device__ __noinline__ float scale(float x, int n) {
    float steps[16];
    for (int i = 0; i < 16; i++)
        steps[i] = x * i;
    return steps[n & 15] + bias;
}
