__device__ void change(cudaGraphDeviceNode_t node, int *data) {
    cudaGraphKernelNodeSetEnabled(node, data[0] > 3);
    cudaGraphKernelNodeSetGridDim(node, dim3(data[1], 2, 1));
    cudaGraphKernelNodeSetParam(node, 8, data[2]);
    cudaGraphKernelNodeUpdate update = {};
    update.node = node;
    update.field = cudaGraphKernelNodeFieldEnabled;
    update.updateData.isEnabled = 1;
    cudaGraphKernelNodeUpdatesApply(&update, 1);
}
