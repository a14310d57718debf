//# Shows: -lcudadevrt is left out where no function is missing; -keep-system-libraries keeps it
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# Link: out2.cubin = a.cubin -L{lib} -lcudadevrt
//# Link: out3.cubin = -keep-system-libraries a.cubin -L{lib} -lcudadevrt
//# ExpectSymbol: cudartErrorTable global object
//# Compile: b.cu
//# Compile: b.ptx = b.cu -arch=compute_75
//# Compile: b.o = b.cu
//# Compile: calls.cu
//# Compile: host.o = host.cpp
//# Archive: libb.a = b.o
//# For: LATER = b.cubin b.ptx b.o libb.a
//# Link: before.{LATER}.cubin = a.cubin {lib}/libcudadevrt.a {LATER} -v -dump-callgraph
//# ExpectExit: any
//# CompareText
//# Link: needed.{LATER}.cubin = calls.cubin {lib}/libcudadevrt.a a.cubin {LATER}
//# ExpectExit: any
//# CompareText
//# Link: host.cubin = a.cubin {lib}/libcudadevrt.a host.o
//# ExpectExit: any
//# CompareText
//# Link: library-twice.cubin = a.cubin {lib}/libcudadevrt.a {lib}/libcudadevrt.a
//# ExpectExit: any
//# CompareText
//# Link: host-more.cubin = a.cubin {lib}/libcudadevrt.a host.o b.cubin
//# ExpectExit: any
//# CompareText
//# Link: again-more.cubin = a.cubin {lib}/libcudadevrt.a {lib}/libcudadevrt.a b.cubin
//# ExpectExit: any
//# CompareText
//# Link: missing.cubin = a.cubin {lib}/libcudadevrt.a b.cubin nosuch.o
//# ExpectExit: any
//# CompareText
//# Link: joined-more.cubin = a.cubin {lib}/libcudadevrt.a -r b.cubin
//# ExpectExit: any
//# CompareText
//# Link: kept.cubin = a.cubin {lib}/libcudadevrt.a -keep-system-libraries b.cubin
//# ExpectExit: any
//# CompareText
//# Link: first.cubin = {lib}/libcudadevrt.a a.cubin b.cubin
//# CompareText
//# Link: twice.cubin = a.cubin a.cubin {lib}/libcudadevrt.a b.cubin
//# ExpectExit: 1
//# ExpectText: Multiple definition
//# CompareText
//# Compile: variables.ptx
//# Link: joined.cubin = -r a.cubin -L{lib} -lcudadevrt
//# ExpectNoSymbol: cudartErrorTable
//# Link: again.cubin = joined.cubin -L{lib} -lcudadevrt
//# ExpectNoSymbol: cudartErrorTable
//# Link: variables.r.cubin = -r variables.cubin -L{lib} -lcudadevrt
//# ExpectNoSymbol: cudartErrorTable
//# Link: variables.out.cubin = -allow-undefined-globals variables.cubin -L{lib} -lcudadevrt
//# ExpectNoSymbol: cudartErrorTable
__global__ void k(int*p){ p[threadIdx.x]=blockIdx.x; }
