//# Shows: -nv-host puts a file of any kind into .nv.host, and what inputs have there goes
//# Compile: a.cu
//# Compile: b.cu
//# Write: text = six or so
//# Write: empty =
//# Words: words = 1 2 3 4
//# Link: text.cubin = -nv-host=text a.cubin b.cubin
//# ExpectSection: .nv.host
//# Link: words.cubin = -nv-host words a.cubin b.cubin -g
//# Link: object.cubin = -nv-host=a.cubin a.cubin b.cubin -preserve-relocs
//# Link: joined.cubin = -nv-host=text -r a.cubin
//# ExpectSection: .nv.host
//# Link: joined-again.cubin = joined.cubin b.cubin
//# ExpectNoSection: .nv.host
//# Link: replaced.cubin = -nv-host=words joined.cubin b.cubin
//# ExpectSection: .nv.host
//# Link: empty.cubin = -nv-host=empty a.cubin b.cubin
//# ExpectExit: 1
//# CompareText
//# Link: folder.cubin = -nv-host=. a.cubin b.cubin
//# ExpectExit: 1
//# CompareText
//# Link: missing.cubin = -nv-host=nowhere a.cubin b.cubin
//# ExpectExit: 1
//# CompareText
extern __device__ int other(int x);
__constant__ int factor = 3;
__global__ void k(int *p) { *p = other(*p) * factor; }
