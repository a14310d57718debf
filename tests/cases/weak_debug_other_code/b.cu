#include "pause.h"

__global__ void debugged()
{
    pause();
}
