__global__ void writes(cudaSurfaceObject_t image, int n)
{
    surf2Dwrite(n, image, 4 * threadIdx.x, blockIdx.x);
}
__global__ void reads(cudaSurfaceObject_t image, int *p)
{
    surf2Dread(p, image, 4 * threadIdx.x, blockIdx.x);
}
__global__ void formats(cudaSurfaceObject_t image, int n)
{
    asm volatile("sust.p.2d.b32.trap [%0, {%1, %1}], {%1};" ::"l"(image), "r"(n));
    asm volatile("sured.b.add.1d.u32.trap [%0, {%1}], %1;" ::"l"(image), "r"(n));
}
