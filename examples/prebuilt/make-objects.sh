#!/usr/bin/env bash
# Compiles device/*.cu to the objects that are kept with the package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

toolkit=${CUDA_PATH:-$(cargo run --quiet --manifest-path ../../Cargo.toml --package cargo-cudalink -- toolkit path)}
# One for each generation: a GPU runs code of its own generation that is not newer than itself.
for number in 75 80 90 100 120; do
    for source in device/*.cu; do
        name=$(basename "$source" .cu)
        (cd device && "$toolkit/bin/nvcc" -arch="sm_$number" -rdc=true -cubin "$name.cu" -o "../objects/$name.sm_$number.cubin")
    done
done
