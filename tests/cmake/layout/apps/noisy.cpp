#include "noise/noise.h"

#include <cstdio>

int main() { std::printf("%d\n", noise_fill(nullptr, 1)); }
