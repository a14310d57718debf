// Lets bodies go around a centre and checks that none of them gains or loses energy.
#include <cmath>
#include <cstdio>
#include <vector>

#include "gravity.h"

constexpr int BODIES = 1024;
constexpr int STEPS = 10000;

__global__ void fly(Body *bodies, double *drift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Body body = bodies[i];
    double before = energy(body);
    for (int n = 0; n < STEPS; n++) {
        step(body, 1e-3);
    }
    drift[i] = energy(body) - before;
    bodies[i] = body;
}

static bool ok(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "error: %s: %s\n", what, cudaGetErrorString(error));
    }
    return error == cudaSuccess;
}

int main() {
    int devices = 0;
    cudaError_t found = cudaGetDeviceCount(&devices);
    if (found == cudaErrorNoDevice || found == cudaErrorInsufficientDriver) {
        std::printf("no GPU: %s; the program is linked, and needs one to compute\n", cudaGetErrorString(found));
        return 0;
    }

    std::vector<Body> bodies(BODIES);
    for (int i = 0; i < BODIES; i++) {
        double radius = 1.0 + i / double(BODIES);
        bodies[i] = {radius, 0, 0, std::sqrt(1 / radius)};
    }
    Body *bodies_there;
    double *drift_there;
    std::vector<double> drift(BODIES);
    bool done = ok(cudaMalloc(&bodies_there, BODIES * sizeof(Body)), "memory for the bodies")
        && ok(cudaMalloc(&drift_there, BODIES * sizeof(double)), "memory for the energies")
        && ok(cudaMemcpy(bodies_there, bodies.data(), BODIES * sizeof(Body), cudaMemcpyDefault), "copying the bodies");
    if (!done) {
        return 1;
    }
    fly<<<BODIES / 128, 128>>>(bodies_there, drift_there);
    done = ok(cudaGetLastError(), "launching the kernel")
        && ok(cudaMemcpy(bodies.data(), bodies_there, BODIES * sizeof(Body), cudaMemcpyDefault), "reading the bodies")
        && ok(cudaMemcpy(drift.data(), drift_there, BODIES * sizeof(double), cudaMemcpyDefault), "reading the energies");
    if (!done) {
        return 1;
    }
    for (int i = 0; i < BODIES; i++) {
        double radius = 1.0 + i / double(BODIES);
        double now = std::hypot(bodies[i].x, bodies[i].y);
        if (!(std::fabs(drift[i]) < 1e-5) || !(std::fabs(now - radius) < 1e-4 * radius)) {
            std::fprintf(stderr, "error: body %d drifts by %g, its circle of %g is now %g\n", i, drift[i], radius, now);
            return 1;
        }
    }
    std::printf("%d bodies made %d steps on their circles\n", BODIES, STEPS);
}
