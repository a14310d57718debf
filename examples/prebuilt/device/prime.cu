// Says what is prime. The small primes that divide most other numbers lie in constant memory.
__constant__ unsigned small_primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31};

__device__ bool is_prime(unsigned number) {
    if (number < 2) {
        return false;
    }
    for (unsigned prime : small_primes) {
        if (number % prime == 0) {
            return number == prime;
        }
    }
    for (unsigned divisor = 37; divisor * divisor <= number; divisor += 2) {
        if (number % divisor == 0) {
            return false;
        }
    }
    return true;
}
