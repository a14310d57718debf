// How many steps of Collatz lead from a number to 1.
__device__ unsigned steps(unsigned long long number) {
    unsigned count = 0;
    while (number > 1) {
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
        count++;
    }
    return count;
}
