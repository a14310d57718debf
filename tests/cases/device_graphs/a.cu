//# Shows: kernels launch and change graphs by functions that the driver provides
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin {lib}/libcudadevrt.a
//# ExpectSymbol: cudaGraphLaunch undefined
//# ExpectSymbol: cudaGraphSetConditional undefined
//# Link: object.cubin = -r a.cubin b.cubin
//# Link: again.cubin = object.cubin -L{lib} -lcudadevrt
//# Link: debug.cubin = -g -preserve-relocs a.cubin b.cubin {lib}/libcudadevrt.a
__device__ void change(cudaGraphDeviceNode_t node, int *data);
__global__ void start(cudaGraphExec_t graph, int *data) {
    if (threadIdx.x == 0)
        data[0] = cudaGraphLaunch(graph, cudaStreamGraphTailLaunch);
    if (data[1])
        cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphFireAndForget);
}
__global__ void repeat(cudaGraphConditionalHandle handle, cudaGraphDeviceNode_t node, int *data) {
    change(node, data);
    cudaGraphSetConditional(handle, data[2] < 9);
}
