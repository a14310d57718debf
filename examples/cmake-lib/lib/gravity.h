// Device functions of a library: they are defined in gravity.cu and joined with their callers by the device link.
#pragma once

struct Body {
    double x, y;
    double vx, vy;
};

// How strongly the centre pulls.
extern __device__ double gravity;

// Moves a body around the centre for one step.
__device__ void step(Body &body, double seconds);

// Kinetic and potential energy of a body.
__device__ double energy(const Body &body);
