// What is compared may be written again only a cycle behind the comparison, which has its result long before: so the store of
// one round is over at its end.

__global__ void descending(int count, double *values) {
    for (int at = count - 2; at >= 0; --at) {
        if (values[at] < values[at + 1]) values[at] = values[at + 1];
    }
}
