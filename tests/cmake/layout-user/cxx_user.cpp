#include <noise/noise.h>

int main() { return noise_fill(nullptr, 1) == 0; }
