#!/bin/sh
# What a portable build costs: processor seconds of one thread of the steps of each method, portable over native. The runs go in turns and
# the least of each counts (machines that slow down do it to both); a run of one step is taken off, so that reading, sampling and the first
# frame do not count.
#
#   bench/portable.sh NATIVE PORTABLE [REPEATS]     two build folders of this source, the second with -DREPOSE_ARCH=portable
set -eu
native=$(cd "$1" && pwd)/repose
portable=$(cd "$2" && pwd)/repose
repeats=${3:-5}
scenes=$(cd "$(dirname "$0")/../scenes/bench" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

seconds() { # seconds PROGRAM END SCENE [OPTIONS]: user time of a run
    command=$1 end=$2 file=$3
    shift 3
    # shellcheck disable=SC2016
    bash -c 'TIMEFORMAT=%U; time "$@" > /dev/null 2>&1' time "$command" run "$file" -o "$folder/run" --overwrite --quiet --threads 1 --until "$end" "$@" 2>&1
}

steps() { # steps NAME: least of the long runs less least of the short ones
    long=$(sort -n "$folder/$1-long" | head -1)
    short=$(sort -n "$folder/$1-short" | head -1)
    echo "$long $short" | awk '{ print $1 - $2 }'
}

compare() { # compare NAME UNTIL SCENE [OPTIONS]
    name=$1 until=$2
    shift 2
    rm -f "$folder"/*-long "$folder"/*-short
    for _ in $(seq "$repeats"); do
        for kind in native portable; do
            program=$native
            [ $kind = native ] || program=$portable
            seconds "$program" "$until" "$@" >> "$folder/$kind-long"
            seconds "$program" 1e-6 "$@" >> "$folder/$kind-short"
        done
    done
    echo "$(steps native) $(steps portable)" |
        awk -v name="$name" '{ printf "%-16s native %6.2f s, portable %6.2f s: %.3f\n", name, $1, $2, $2 / $1 }'
}

collapse="$scenes/methods-collapse.yaml"
compare ballistic 2 "$collapse" --set method=ballistic --set cell_size=5mm
compare nonsmooth 1.5 "$collapse" --set method=nonsmooth
compare elastoplastic 1.5 "$collapse" --set method=elastoplastic
compare pbd 2 "$collapse" --set method=pbd --set cell_size=12mm
compare contact 0.04 "$collapse" --set method=contact
compare diphasic 0.024 "$scenes/collapse-in-water.yaml"
