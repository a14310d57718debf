#!/bin/sh
# Compiles the PTX sources here with ptxas of older toolkits, as far as these
# know the processor. Each argument is VERSION=PTXAS, such as 12-9=/path/to/ptxas.
set -eu
cd "$(dirname "$0")"
# Compiles a source as it is for both processors with Mercury code.
for_both() {
    for sm in 100 120; do
        sed "s/^\.target .*/.target sm_$sm/" "$1.ptx" >"$1.tmp.ptx"
        "$ptxas" -c -arch="sm_$sm" -o "$1.$version.sm_$sm.cubin" "$1.tmp.ptx"
        rm "$1.tmp.ptx"
    done
}
for argument in "$@"; do
    version=${argument%%=*}
    ptxas=${argument#*=}
    for sm in 75 80 90 100 120; do
        case $version.$sm in
        11-8.80 | 11-8.1* | 12-0.1* | 12-4.1* | 12-4.75 | 12-8.[789]*) continue ;;
        11-8.*) isa=7.8 ;;
        *.90) isa=8.0 ;;
        12-8.1* | 12-9.1*) isa=8.7 ;;
        *) isa=7.8 ;;
        esac
        names="a b"
        case $version.$sm in
        12-[89].1*) names="a b c e f g h i j k l o p" ;;
        12-0.90) names="a b d" ;;
        esac
        for name in $names; do
            sed "s/^\.version .*/.version $isa/; s/^\.target .*/.target sm_$sm/" "$name.ptx" >"$name.tmp.ptx"
            "$ptxas" -c -arch="sm_$sm" -o "$name.$version.sm_$sm.cubin" "$name.tmp.ptx"
            rm "$name.tmp.ptx"
        done
        # Code with line tables.
        case $version.$sm in
        12-[89].1*)
            for name in n z; do
                sed "s/^\.target .*/.target sm_$sm/" "$name.ptx" >"$name.tmp.ptx"
                "$ptxas" -c -lineinfo -arch="sm_$sm" -o "$name.$version.sm_$sm.cubin" "$name.tmp.ptx"
                rm "$name.tmp.ptx"
            done
            ;;
        esac
        # Code for debuggers.
        case $version.$sm in
        12-[89].1*)
            for name in e l; do
                sed "s/^\.version .*/.version $isa/; s/^\.target .*/.target sm_$sm/" "$name.ptx" >"$name.tmp.ptx"
                "$ptxas" -c -g -arch="sm_$sm" -o "$name-g.$version.sm_$sm.cubin" "$name.tmp.ptx"
                rm "$name.tmp.ptx"
            done
            ;;
        esac
    done
    case $version in
    12-8)
        "$ptxas" -c -arch=sm_100a -o "t.$version.sm_100a.cubin" t.ptx
        for_both m
        for_both y
        ;;
    12-9)
        "$ptxas" -c -arch=sm_100a -o "pair.$version.sm_100a.cubin" pair.ptx
        for_both q
        for_both r
        for_both s
        for_both u
        for_both v
        for_both w
        "$ptxas" -c -arch=sm_100a -o "x.$version.sm_100a.cubin" x.ptx
        ;;
    esac
done
