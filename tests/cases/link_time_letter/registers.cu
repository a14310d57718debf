__global__ void registers(int *p) {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 64;");
  *p = 1;
}
