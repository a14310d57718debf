// How many steps a number takes to one.
__device__ unsigned collatz_steps(unsigned long long number) {
    unsigned steps = 0;
    while (number != 1) {
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
        steps++;
    }
    return steps;
}
