#include "gravity.h"

__device__ double gravity = 1.0;

static __device__ void pull(Body &body, double seconds) {
    double inverse = rsqrt(body.x * body.x + body.y * body.y);
    double force = gravity * inverse * inverse * inverse;
    body.vx -= force * body.x * seconds;
    body.vy -= force * body.y * seconds;
}

__device__ void step(Body &body, double seconds) {
    // Leapfrog: half a pull, a whole move, half a pull. It keeps the energy over long times.
    pull(body, seconds / 2);
    body.x += body.vx * seconds;
    body.y += body.vy * seconds;
    pull(body, seconds / 2);
}

__device__ double energy(const Body &body) {
    double speed = body.vx * body.vx + body.vy * body.vy;
    return speed / 2 - gravity * rsqrt(body.x * body.x + body.y * body.y);
}
