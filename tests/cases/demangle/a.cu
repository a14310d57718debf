//# Shows: C++ names in the call graph: operators, templates, lambdas, namespaces, constructors
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -dump-callgraph a.cubin b.cubin
//# CompareText
//# Link: mangled.cubin = -dump-callgraph-no-demangle a.cubin b.cubin
//# CompareText
//# Link: undefined.cubin = a.cubin
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_ZN8geometry5ShapeC1Ei' in 'a.cubin'
//# ExpectText: error   : Undefined reference to '_ZN8geometryplERKNS_5ShapeES2_' in 'a.cubin'
//# ExpectText: error   : Undefined reference to '_ZNK8geometry5Shape4areaEv' in 'a.cubin'
//# ExpectText: error   : Undefined reference to '_ZN8geometryeqERKNS_5ShapeES2_' in 'a.cubin'
//# ExpectText: error   : Undefined reference to '_ZNK8geometry5ShapecviEv' in 'a.cubin'
//# ExpectText: error   : Undefined reference to '_ZN8geometry5ShapeD1Ev' in 'a.cubin'
//# CompareText
#include "shape.h"
namespace app {
template <class T, int N> __device__ __noinline__ T scale(T x) { return x * N; }
template <class F> __device__ __noinline__ int apply(F f, int x) { return f(x); }
}
__global__ void k(int *p) {
    geometry::Shape a(p[0]), b(p[1]);
    geometry::Shape sum = a + b;
    int y = p[4];
    p[0] = sum.area() + app::scale<int, 3>(p[2]) + (int)app::scale<double, -1>(p[3]);
    p[1] = app::apply([=](int x) { return x + y; }, 4) + (a == b) + (int)a;
}
