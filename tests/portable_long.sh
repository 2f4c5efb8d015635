# The portable build (-DREPOSE_ARCH=portable): every kind of kernels that this processor runs gives the same results but for rounding, in one
# program with the static and one with the shared library; REPOSE_KERNELS chooses, and a wrong name is refused.
set -eu
[ -z "${SANITIZE:-}" ] || { echo "skipped: one portable build is enough"; exit 77; }
case "$(uname -m)" in x86_64) ;; *) echo "skipped: kernels for several processors are there for x86-64 alone"; exit 77 ;; esac
rm -rf portable
cmake -S "$SOURCE" -B portable -DREPOSE_ARCH=portable -DREPOSE_COMPONENTS=core -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" > configure.log 2>&1 || { cat configure.log; exit 1; }
grep -q "kernels chosen at start: x86-64 x86-64-v3" configure.log || { echo "the summary does not name the kernels"; exit 1; }
cmake --build portable -j2 > build.log 2>&1 || { tail -50 build.log; exit 1; }

# outside of the kernels nothing is wider than x86-64 has
if objdump -d portable/CMakeFiles/rp_sim.dir/src/sim/sim.c.o | grep -q '%ymm'; then
    echo "the library itself was compiled for more than every x86-64"
    exit 1
fi
"$CC" -std=c17 -D_POSIX_C_SOURCE=200809L -I "$SOURCE/include" "$SOURCE/tests/test_kernels.c" portable/librepose.a -fopenmp -lm -o whole
"$CC" -std=c17 -D_POSIX_C_SOURCE=200809L -I "$SOURCE/include" "$SOURCE/tests/test_kernels.c" -Lportable -lrepose -Wl,-rpath,"$PWD/portable" -lm -o shared
./whole
REPOSE_KERNELS=x86-64 ./shared | grep "chosen: x86-64$"
if REPOSE_KERNELS=x86-64-v1 ./whole > wrong.log; then
    echo "wrong kernels were taken"
    exit 1
fi
rm -rf portable whole shared
