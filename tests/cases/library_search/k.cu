//# Shows: where -l finds libraries: folders in order, shared libraries hide static ones, useless files are skipped
//# Compile: k.o = k.cu
//# Compile: f.o = f.cu
//# Compile: f.cubin = f.cu
//# Compile: plain.o = plain.cpp
//# Archive: libf.a = f.o
//# Archive: libcubin.a = f.cubin
//# Archive: libplain.a = plain.o
//# Archive: libhidden.a = f.o
//# Write: libhidden.so = no shared library, but a file of that name, which is all that nvlink looks for
//# Write: text.txt = a text of more than fifty bytes, which is as much as nvlink reads first
//# Archive: libtext.a = text.txt f.o
//# Link: before.cubin = -L. -lf k.o
//# Link: list.cubin = k.o -L nosuch,. -l nosuch,f -lf
//# Link: later-folder.cubin = k.o -lf -L.
//# Link: slash.cubin = k.o -L./ -lf -v
//# CompareText
//# Link: no-folder.cubin = k.o -lf libplain.a
//# ExpectExit: 255
//# CompareText
//# Link: file-name.cubin = k.o -L. -l libf.a -l:libf.a libf.a
//# Link: cubins.cubin = k.o -L. -lcubin libplain.a
//# ExpectExit: 255
//# ExpectText: warning : Skipping incompatible './libcubin.a' when searching for -lcubin
//# CompareText
//# Link: cubins-werror.cubin = -Werror k.o -L. -lcubin libplain.a
//# ExpectExit: 1
//# ExpectText: fatal   : elfLink internal error
//# CompareText
//# Link: hidden.cubin = k.o -L. -lhidden libhidden.so libplain.a
//# ExpectExit: 255
//# CompareText
//# Link: text-first.cubin = k.o -L. -ltext libplain.a
//# ExpectExit: 255
//# CompareText
//# Truncate: libempty.a = libf.a 8
//# Write: libshort.a = short
//# Write: libno.a = a text of more than fifty bytes, which is as much as nvlink reads first
//# Link: empty.cubin = k.o libempty.a libf.a
//# CompareText
//# Link: empty-found.cubin = k.o -L. -lempty -lf
//# ExpectText: warning : Skipping incompatible './libempty.a' when searching for -lempty
//# CompareText
//# Link: short.cubin = k.o -L. -lshort -lf
//# ExpectText: warning : Skipping incompatible './libshort.a' when searching for -lshort
//# CompareText
//# Link: no-archive.cubin = k.o -L. -lno -lf
//# ExpectExit: 1
//# ExpectText: fatal   : unexpected archive format
//# CompareText
//# Link: ignored.cubin = k.o libno.a libf.a
//# CompareText
extern __device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
