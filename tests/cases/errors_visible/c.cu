__global__ void silent(int *p, int n)
{
    if (n > *p)
        return;
    p[n] = n;
}
