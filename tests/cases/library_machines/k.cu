//# Shows: -cpu-arch says for which machine libraries are, without it the machine of the linker; others are skipped
//# Archs: 90
//# For: cpu = X86_64 AARCH64 ARMv7 PPC64LE X86 unknown
//# Compile: k.o = k.cu
//# Compile: f.o = f.cu
//# Compile: f.cubin = f.cu
//# Compile: plain.o = plain.cpp
//# Patch: arm.o = f.o 0x12 b7 00
//# Patch: power.o = f.o 0x12 15 00
//# Patch: plain-arm.o = plain.o 0x12 b7 00
//# Write: text.txt = a text of more than fifty bytes, which is as much as nvlink reads first
//# Fatbinary: f.fatbin = -64 --image3=kind=elf,sm={sm},file=f.cubin
//# Archive: libhere.a = f.o
//# Archive: libarm.a = arm.o
//# Archive: libpower.a = power.o
//# Archive: libmixed.a = plain-arm.o f.cubin f.o
//# Archive: libtext.a = plain-arm.o text.txt f.o
//# Archive: libfatbin.a = f.fatbin f.o
//# Link: here.cubin = k.o -L. -lhere
//# CompareText
//# Link: arm.cubin = k.o -L. -larm
//# ExpectExit: 255
//# ExpectText: warning : Skipping incompatible './libarm.a' when searching for -larm
//# CompareText
//# Link: mixed.cubin = k.o -L. -lmixed
//# CompareText
//# Link: text.cubin = k.o -L. -ltext
//# ExpectExit: 255
//# CompareText
//# Link: fatbin.cubin = k.o -L. -lfatbin
//# ExpectExit: 255
//# CompareText
//# Link: named-{cpu}.cubin = -cpu-arch={cpu} k.o libarm.a
//# CompareText
//# Link: here-{cpu}.cubin = -cpu-arch={cpu} k.o -L. -lhere
//# ExpectExit: any
//# CompareText
//# Link: arm-{cpu}.cubin = -cpu-arch={cpu} k.o -L. -larm
//# ExpectExit: any
//# CompareText
//# Link: power-{cpu}.cubin = -cpu-arch={cpu} k.o -L. -lpower
//# ExpectExit: any
//# CompareText
//# Link: early.cubin = k.o -L. -larm -nv-host=missing
//# ExpectExit: 1
//# ExpectText: Skipping incompatible
//# CompareText
//# For: FIRST = -larm -lreal
//# Archive: libreal.a = k.o
//# Link: behind-error{FIRST}.cubin = -Werror -preserve-relocs nosuch.o -L. {FIRST}
//# ExpectExit: 1
//# ExpectText: elfLink internal error
//# CompareText
//# Link: two-errors{FIRST}.cubin = -Werror k.o -L. -larm {FIRST} -lreal
//# ExpectExit: 1
//# CompareText
//# Link: early-index.cubin = k.o -L. -larm -uidx=missing
//# ExpectExit: 1
//# ExpectText: Skipping incompatible
//# CompareText
//# Link: early-table.cubin = k.o -L. -larm -time=missing/table
//# ExpectExit: 1
//# ExpectText: Skipping incompatible
//# CompareText
extern __device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
