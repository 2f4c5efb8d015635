#!/bin/sh
# The sources keep to LAYERS, and the check that says so catches each kind of breach.
set -eu
check() { "${PYTHON:-python3}" "$SOURCE/tools/check_layers" "$@"; }
check "$SOURCE"

tree="$SCRATCH/tree"
fresh() { # a small project without faults
    rm -rf "$tree"
    mkdir -p "$tree/src/low" "$tree/src/high" "$tree/apps" "$tree/include/repose"
    cat > "$tree/LAYERS" <<'END'
low:
high: low
apps:
only <omp.h>:    low
only <assimp/:   low
only printf:     apps
only stderr:     apps
only exit:       apps
prefix low:      short
END
    cat > "$tree/src/low/low.c" <<'END'
#include "low/low.h"
#include <omp.h>
#include <assimp/scene.h>
/* printf and exit in a comment, "exit(1)" */
static const char *text = "printf(exit)"; // stderr
int low(struct s *x) { x->exit = 1; return snprintf(0, 0, text) + x.abort; }
END
    : > "$tree/src/low/low.h"
    printf '#include "high/high.h"\n#include "low/low.h"\n#include <stdio.h>\n' > "$tree/src/high/high.c"
    printf '#include "apps/x.h"\n#include "high/high.h"\nint f(void) { printf("x"); exit(1); }\n' > "$tree/src/low/test_low.c"
    : > "$tree/src/high/high.h"
    printf '#include <repose/repose.h>\n#include "local.h"\nint main(void) { printf("x"); exit(0); }\n' > "$tree/apps/main.c"
    : > "$tree/apps/local.h"
    printf '#include <repose/low.h>\n' > "$tree/include/repose/repose.h"
}
catches() { # catches WORDS: the check must fail and say them
    if check "$tree" > "$SCRATCH/out"; then
        echo "not caught: $1"
        exit 1
    fi
    grep -qF -- "$1" "$SCRATCH/out" || { echo "no word of: $1"; cat "$SCRATCH/out"; exit 1; }
    [ "$(wc -l < "$SCRATCH/out")" = 2 ] || { echo "more than one breach:"; cat "$SCRATCH/out"; exit 1; }
}

fresh; check "$tree" || { echo "a tree without faults fails"; exit 1; }
fresh; echo '#include "high/high.h"' >> "$tree/src/low/low.c"; catches 'src/low/low.c:7: low may not include "high/high.h"'
fresh; echo '#  include  <omp.h>' >> "$tree/src/high/high.c"; catches '<omp.h> belongs to low, not to high'
fresh; echo '#include <assimp/mesh.h>' >> "$tree/src/high/high.h"; catches '<assimp/mesh.h> belongs to low, not to high'
fresh; echo 'int g(void) { return printf ("x"); }' >> "$tree/src/low/low.c"; catches 'low.c:7: printf belongs to apps, not to low'
fresh; echo 'void g(void) { exit(1); }' >> "$tree/src/high/high.c"; catches 'exit belongs to apps, not to high'
fresh; echo 'void g(void) { fprintf(stderr, "x"); }' >> "$tree/src/high/high.c"; catches 'stderr belongs to apps'
fresh; echo '#include "../low/low.h"' >> "$tree/src/high/high.c"; catches 'write the path from src/'
fresh; echo '#include "low/low.h"' >> "$tree/apps/main.c"; catches 'apps may not include "low/low.h"'
fresh; echo '#include "low/low.h"' >> "$tree/include/repose/repose.h"; catches 'public headers include <repose/'
fresh; mkdir "$tree/src/attic"; catches 'src/attic: this room has no line in LAYERS'
fresh; sed -i 's/^low:/low: high/' "$tree/LAYERS"; catches 'low stands on high, which is not above it'
fresh; echo '#include <omp.h>' > "$tree/src/high/test_high.c"; catches '<omp.h> belongs to low, not to high'
echo "every breach was caught"
