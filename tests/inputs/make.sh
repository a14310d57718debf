#!/bin/sh
# Compiles every CUDA source here to a relocatable cubin for six processors, and
# every PTX source for two.
# Uses the toolkit that `cargo cudalink toolkit path` names, or CUDA_PATH.
set -eu
cd "$(dirname "$0")"
toolkit=${CUDA_PATH:-$(cargo cudalink toolkit path)}
for source in *.cu; do
    name=${source%.cu}
    for sm in 75 80 90 100 110 120; do
        "$toolkit/bin/nvcc" -arch="sm_$sm" -rdc=true -cubin -o "$name.sm_$sm.cubin" "$source"
    done
done
for source in *.ptx; do
    name=${source%.ptx}
    for sm in 90 100; do
        "$toolkit/bin/ptxas" -c -arch="sm_$sm" -o "$name.sm_$sm.cubin" "$source"
    done
done
