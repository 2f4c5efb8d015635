#!/bin/sh
# The built objects export the names of their rooms alone, and the check that says so catches each kind of breach.
set -eu
check() { "${PYTHON:-python3}" "$SOURCE/tools/check_symbols" "$@"; }
check "$BUILD" "$SOURCE"

tree="$SCRATCH/tree"
build="$SCRATCH/build"
compile() { # compile TARGET FILE TEXT: an object where CMake would put it
    mkdir -p "$tree/src/low" "$build/CMakeFiles/$1.dir/src/low"
    printf '%s\n' "$3" > "$tree/src/low/$2"
    "$CC" -std=c17 -c "$tree/src/low/$2" -o "$build/CMakeFiles/$1.dir/src/low/$2.o"
}
fresh() {
    rm -rf "$tree" "$build"
    mkdir -p "$tree/include/repose"
    printf 'low:\nhigh: low\nprefix low: short\n' > "$tree/LAYERS"
    printf '#define RP_API\nRP_API int rp_low_make(int a,\n  int b);\n/* RP_API int rp_low_gone(void); */\n' > "$tree/include/repose/low.h"
    compile rp_low low.c 'int rp__low_a(void) { return 1; } int rp__short_b; int rp_low_make(int a, int b) { return a + b; } static int c; int *rp__short(void) { return &c; }'
    compile rp_low_2d x_dim.c 'int rp__low_x_2d(void) { return 1; }'
}
catches() {
    if check "$build" "$tree" > "$SCRATCH/out"; then
        echo "not caught: $1"
        exit 1
    fi
    grep -qF -- "$1" "$SCRATCH/out" || { echo "no word of: $1"; cat "$SCRATCH/out"; exit 1; }
}

fresh; check "$build" "$tree" || { echo "a build without faults fails"; exit 1; }
fresh; compile rp_low bad.c 'int helper(void) { return 1; }'; catches 'src/low/bad.c: low exports helper'
fresh; compile rp_low bad.c 'int rp__high_a(void) { return 1; }'; catches 'low exports rp__high_a'
fresh; compile rp_low bad.c 'int rp__lower(void) { return 1; }'; catches 'low exports rp__lower'
fresh; compile rp_low bad.c 'int counter;'; catches 'low exports counter'
fresh; compile rp_low bad.c 'int rp_low_gone(void) { return 1; }'; catches 'low exports rp_low_gone'
fresh; compile rp_low_3d bad_dim.c 'int rp__low_x(void) { return 1; }'; catches 'the name must end in _3d'
fresh; printf 'prefix high: short\n' >> "$tree/LAYERS"; catches 'prefix short belongs to low already'
fresh; rm -r "$build"; mkdir "$build"; catches 'no objects of rooms'
fresh; echo 'int rp_low_make(void) { return 1; } int rp__low_a(void) { return 1; }' > "$tree/lib.c"
"$CC" -std=c17 -shared -fPIC "$tree/lib.c" -o "$build/librepose.so"; catches 'librepose.so shows rp__low_a'
echo "every breach was caught"
