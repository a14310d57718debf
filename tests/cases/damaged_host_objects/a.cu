//# Shows: host objects whose headers tell of what is not there cannot be read
//# Archs: 80
//# Compile: a.o = a.cu
//# Compile: plain.o = plain.cpp
//# Patch: no-table.o = a.o 0x28 00 00 00 00 00 00 00 00
//# Patch: order.o = a.o 0x5 02
//# Patch: small-segments.o = a.o 0x38 01 00
//# Patch: far-segments.o = a.o 0x20 ff ff ff 7f
//# Patch: outside.o = a.o .text@0x18 ff ff ff 7f
//# Patch: beyond.o = a.o .comment@0x20 ff ff ff 7f
//# Patch: unnamed.o = a.o __nv_relfatbin@0x0 00 00 00 00
//# Patch: plain-outside.o = plain.o .comment@0x18 ff ff ff 7f
//# Patch: plain-no-table.o = plain.o 0x28 00 00 00 00 00 00 00 00
//# For: KIND = no-table.o order.o small-segments.o far-segments.o outside.o beyond.o unnamed.o plain-outside.o plain-no-table.o
//# Link: {KIND}.cubin = {KIND}
//# ExpectExit: 1
//# ExpectText: Could not find fatbin in
//# CompareText
//# Patch: wrappers.o = a.o .nvFatBinSegment@0x4 08 00 00 00
//# Link: wrappers.cubin = wrappers.o
//# ExpectSymbol: _Z6kernelPi func

__global__ void kernel(int *p) { *p = 1; }

int main() { kernel<<<1, 1>>>(nullptr); }
