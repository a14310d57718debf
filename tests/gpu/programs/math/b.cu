__device__ double other(double angle) { return cos(angle) + pow(2.5, 1.5); }
