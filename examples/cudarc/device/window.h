#pragma once

constexpr int radius = 3;

// Weights by distance, set by the host.
extern __constant__ float weights[radius + 1];

// The weighted mean around `center`, with the nearest value for what lies outside.
__device__ float window(const float *values, int count, int center);
