// One kernel that does nothing, for programs of very many.
extern "C" __global__ void empty() {}
