#pragma once

// Noise at a place; a seed chooses among landscapes.
__device__ unsigned noise(unsigned place, unsigned seed);
