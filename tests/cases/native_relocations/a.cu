//# Shows: damage in relocations of machine code beside Mercury code, which nvlink does not read
//# Archs: 100 120
//# Compile: a.cu
//# Compile: b.cu
//# Patch: first-symbol.cubin = a.cubin .rela.text.kernel+0xc ffffff00
//# Patch: second-symbol.cubin = a.cubin .rela.text.kernel+0x24 05000000
//# Patch: first-type.cubin = a.cubin .rela.text.kernel+0x8 7f000000
//# Patch: second-type.cubin = a.cubin .rela.text.kernel+0x20 02000000
//# Patch: third-type.cubin = a.cubin .rela.text.kernel+0x38 00000100
//# Patch: first-addend.cubin = a.cubin .rela.text.kernel+0x10 0010000000000000
//# Patch: second-addend.cubin = a.cubin .rela.text.kernel+0x28 ffffffffffffffff
//# Patch: third-addend.cubin = a.cubin .rela.text.kernel+0x40 0800000000000000
//# Patch: first-place.cubin = a.cubin .rela.text.kernel+0x0 ffffffffffffffff
//# Patch: second-place.cubin = a.cubin .rela.text.kernel+0x18 0800000000000000
//# Patch: third-place.cubin = a.cubin .rela.text.kernel+0x30 0000010000000000
//# Patch: data-symbol.cubin = a.cubin .rela.nv.global.init+0xc 05000000
//# Patch: data-type.cubin = a.cubin .rela.nv.global.init+0x8 37000000
//# Patch: data-place.cubin = a.cubin .rela.nv.global.init+0x0 0400000000000000
//# Patch: frame-symbol.cubin = a.cubin .rela.debug_frame+0xc 05000000
//# Patch: frame-type.cubin = a.cubin .rela.debug_frame+0x8 37000000
//# Patch: frame-addend.cubin = a.cubin .rela.debug_frame+0x10 0800000000000000
//# For: DAMAGED = first-symbol second-symbol first-type second-type third-type first-addend second-addend third-addend first-place second-place third-place data-symbol data-type data-place frame-symbol frame-type frame-addend
//# Link: out-{DAMAGED}.cubin = {DAMAGED}.cubin b.cubin
//# CompareText
//# Link: r-{DAMAGED}.cubin = {DAMAGED}.cubin b.cubin -r
//# CompareText
//# Link: p-{DAMAGED}.cubin = b.cubin {DAMAGED}.cubin -preserve-relocs
//# CompareText
extern __device__ int callee(int);
__device__ int counter = 3;
__device__ int *pointer = &counter;
__device__ int *other = &counter;
__constant__ int scale[8];
__shared__ int shared[64];

// Behind what Mercury code has in other sizes: ULEA, ULEA.HI, UIMAD.WIDE.
extern "C" __global__ void kernel(int *out, int n) {
    shared[threadIdx.x % 64] = n;
    __syncthreads();
    for (int i = 0; i < n; i += 3)
        out[i] = shared[(i + n) % 64] + callee(scale[n % 5]) + *pointer;
    out[n / 5] = counter + callee(*other);
}
