#!/bin/sh
# Assembles a.ptx and b.ptx of the neighbouring folder as toolkits after 13.0 do, and links them as these do. Each argument is
# VERSION=BIN, such as 13-1=/path/to/toolkit/bin.
set -eu
cd "$(dirname "$0")"
for argument in "$@"; do
    version=${argument%%=*}
    bin=${argument#*=}
    for sm in 90 100 120; do
        for name in a b; do
            sed "s/^\.version .*/.version 9.0/; s/^\.target .*/.target sm_$sm/" "../older/$name.ptx" >"$name.tmp.ptx"
            "$bin/ptxas" -c -arch="sm_$sm" -o "$name.$version.sm_$sm.cubin" "$name.tmp.ptx"
            rm "$name.tmp.ptx"
        done
        case $version in
        13-5)
            sed "s/^\.target .*/.target sm_$sm/" dynamic.ptx >dynamic.tmp.ptx
            "$bin/ptxas" -c -arch="sm_$sm" -o "dynamic.$version.sm_$sm.cubin" dynamic.tmp.ptx
            rm dynamic.tmp.ptx
            ;;
        esac
        "$bin/nvlink" -arch="sm_$sm" -o "linked.$version.sm_$sm.cubin" "a.$version.sm_$sm.cubin" "b.$version.sm_$sm.cubin"
    done
done
