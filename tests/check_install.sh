#!/bin/sh
# An installed library serves an outside program, found by pkg-config and by CMake; the installed command runs; nothing inside shows.
set -eu
[ -z "${SANITIZE:-}" ] || { echo "skipped: an outside program has no sanitizer"; exit 77; }
command -v pkg-config > /dev/null || { echo "skipped: no pkg-config"; exit 77; }
prefix="$SCRATCH/prefix"
rm -rf "$prefix" outside
cmake --install "$BUILD" --prefix "$prefix" > install.log || { cat install.log; exit 1; }

mkdir outside
cat > outside/main.c <<'END'
#include <repose/repose.h>
#include <stdio.h>

int main(void)
{
    rp_sim_def def = rp_default_sim_def();
    def.method = "no such method";
    rp_sim *sim = NULL;
    rp_result res = rp_sim_create(&def, &sim);
    printf("%s: %s\n", rp_result_name(res), rp_last_error());
    return res == RP_OK || sim != NULL;
}
END
cat > outside/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(outside C)
find_package(repose 0.1 REQUIRED)
add_executable(outside main.c)
target_link_libraries(outside PRIVATE repose::repose)
add_executable(outside_whole main.c)
target_link_libraries(outside_whole PRIVATE repose::repose_static)
END
pc=$(dirname "$(find "$prefix" -name repose.pc)")
mv "$prefix" "$prefix.moved" # it may be moved as a whole
pc="$prefix.moved${pc#"$prefix"}"
prefix="$prefix.moved"
trap 'rm -rf "$prefix"' EXIT
libdir=$(PKG_CONFIG_PATH="$pc" pkg-config --variable=libdir repose)

# shellcheck disable=SC2046
"$CC" -std=c17 outside/main.c $(PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs repose) -o outside/by_pkg_config
LD_LIBRARY_PATH="$libdir" outside/by_pkg_config | grep "no such method"

cmake -S outside -B outside/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" > cmake.log 2>&1 || { cat cmake.log; exit 1; }
cmake --build outside/build > cmake.log 2>&1 || { cat cmake.log; exit 1; }
outside/build/outside | grep "no such method"
outside/build/outside_whole | grep "no such method"
if objdump -p outside/build/outside_whole | grep -q librepose; then
    echo "the static program by CMake needs the shared library"
    exit 1
fi

# the static library, with what it needs
static=$(PKG_CONFIG_PATH="$pc" pkg-config --static --libs repose | sed "s|-lrepose |$libdir/librepose.a |; s|-lrepose\$|$libdir/librepose.a|")
# shellcheck disable=SC2046,SC2086
"$CC" -std=c17 outside/main.c $(PKG_CONFIG_PATH="$pc" pkg-config --cflags repose) $static -o outside/whole
outside/whole | grep "no such method"
if objdump -p outside/whole | grep -q librepose; then
    echo "the static program needs the shared library"
    exit 1
fi

"$prefix/bin/repose" --version

# the soname, and no name of a room
library=$(find "$prefix" -name 'librepose.so.*.*.*')
objdump -p "$library" | grep -q 'SONAME *librepose.so.[0-9]*$'
nm -D --defined-only "$library" | awk '$3 ~ /^rp_/ { n++ } $3 ~ /^rp__/ { print "shown: " $3; bad = 1 } END { exit bad || n < 20 }'

# what is not there is not linked
printf '#include <repose/result.h>\nint rp__base_seconds(void);\nint main(void) { return rp__base_seconds(); }\n' > outside/inside.c
# shellcheck disable=SC2046
if "$CC" outside/inside.c $(PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs repose) -o outside/inside 2> /dev/null; then
    echo "a hidden name was linked"
    exit 1
fi
echo "installed, moved, found both ways"
