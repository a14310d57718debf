// Half of a pair: a device function that uses the other half's variables.
extern __device__ int calls;
extern __constant__ float weights[4];
__device__ float scale = 3.0f;

__device__ float callee(float value, int lane) {
    __shared__ float staged[32];
    staged[lane % 32] = value;
    __syncthreads();
    if (value < 0.0f)
        atomicAdd(&calls, 1);
    return staged[(lane + 1) % 32] * scale + weights[lane % 4];
}
