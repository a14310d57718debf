//# Shows: functions that rustc made, with panics, a vtable and references to CUDA C, link with kernels
//# Compile: kernel.cu
//# Compile: functions.cubin = functions.ptx
//# Link: out.cubin = kernel.cubin functions.cubin
//# ExpectSymbol: unit_area global func
//# ExpectSymbol: weighted_sum global func
//# CompareText
//# Link: swapped.cubin = functions.cubin kernel.cubin -v
//# CompareText
//# Link: joined.cubin = -r functions.cubin kernel.cubin
//# CompareText
//# Link: again.cubin = joined.cubin
//# CompareText
//# Link: alone.cubin = kernel.cubin
//# ExpectExit: 255
//# CompareText
// Device functions in Rust, which `functions.rs` shows.
extern "C" __device__ float unit_area(unsigned long long which);
extern "C" __device__ unsigned long long weighted_sum(const unsigned *values, unsigned long long count);

extern "C" {
__device__ unsigned calls = 0;
__device__ float scale(float value) { return value * 3.14159265f; }
__device__ void stop() { __trap(); }
}

extern "C" __global__ void measure(float *areas, unsigned long long *sums, const unsigned *values, unsigned long long count)
{
    areas[threadIdx.x] = unit_area(threadIdx.x);
    sums[threadIdx.x] = weighted_sum(values + threadIdx.x, count) + calls;
}
