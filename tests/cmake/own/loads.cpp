#include "described.h"

int main() { return 0; }
