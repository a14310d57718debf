inline __device__ __noinline__ void pause()
{
    asm volatile("nanosleep.u32 10;");
#ifdef __CUDACC_DEBUG__
    // What is compiled for debuggers is longer.
    asm volatile("nanosleep.u32 20; nanosleep.u32 21; nanosleep.u32 22; nanosleep.u32 23;");
    asm volatile("nanosleep.u32 24; nanosleep.u32 25; nanosleep.u32 26; nanosleep.u32 27;");
    asm volatile("nanosleep.u32 28; nanosleep.u32 29; nanosleep.u32 30; nanosleep.u32 31;");
#endif
}
