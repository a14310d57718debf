//# Shows: relocations of jump tables move in the order of the tables' places, not of their names
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# ExpectSection[100+]: .nv.merc.nv.constant.optimizer._Z1kPi
//# Link: debug.cubin = -g a.cubin
//# Link: recorded.cubin = -preserve-relocs a.cubin
// The compiler names the tables of switches within a switch in another order than it places them.
__device__ __noinline__ int pick(int a, int b, int c, int* d) {
  switch (a) {
    case 0:
      switch (b) {
        case 0: d[0] = c * 3; return 1;
        case 1: return c ^ d[3];
        case 2: d[c] = 7; return d[9];
        case 3: return d[5] + c / 3;
        case 4: d[1] = 2; return 8;
        case 5: return d[c];
      }
      return d[17];
    case 1: return d[1] / c;
    case 2:
      switch (c) {
        case 0: d[10] = b * 3; return 1;
        case 1: return b ^ d[13];
        case 2: d[b] = 71; return d[19];
        case 3: return d[15] + b / 3;
        case 4: d[11] = 2; return 18;
        case 5: return d[b + 3];
      }
      return d[27];
    case 3: return d[3] % b;
    case 4:
      switch (b) {
        case 0: d[20] = c * 5; return 1;
        case 1: return c ^ d[23];
        case 2: d[c] = 72; return d[29];
        case 3: return d[25] + c / 5;
        case 4: d[12] = 2; return 28;
        case 5: return d[c + 4];
      }
      return d[37];
    case 5: d[7] = 1; return 5;
  }
  return d[47];
}
__global__ void k(int* d) { d[0] = pick(d[1], d[2], d[3], d); }
