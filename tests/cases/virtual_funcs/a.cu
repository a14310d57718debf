//# Shows: virtual functions: tables of function addresses, and indirect calls by signature
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -dump-callgraph a.cubin b.cubin
//# CompareText
//# Link: swapped.cubin = b.cubin a.cubin
#include "animal.h"
struct Dog : Animal {
    __device__ int sound(int x) override { return x + 1; }
};
__global__ void k(int *p) {
    Dog dog;
    Cat cat;
    Animal *animal = *p ? (Animal *)&dog : &cat;
    p[1] = animal->sound(3) + animal->legs();
}
