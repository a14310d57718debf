__constant__ int second_table[9000] = {2};
__constant__ int tail = 4;
__constant__ long long wide_tail = 3;
__global__ void fourth(int *p) { *p = tail; }
int launch_fourth(int *p)
{
    fourth<<<1, 1>>>(p);
    return 0;
}
