# The core alone (-DREPOSE_COMPONENTS=core): configured, built, its tests run, and linked with nothing but libc, libm and OpenMP.
set -eu
[ -z "${SANITIZE:-}" ] || { echo "skipped: one build of the core is enough"; exit 77; }
rm -rf core
cmake -S "$SOURCE" -B core -DREPOSE_COMPONENTS=core -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" > configure.log 2>&1 || { cat configure.log; exit 1; }
grep -q "left out: scripts;images;problems;implicit;files;pictures" configure.log || { echo "the summary does not name what is left out"; exit 1; }
cmake --build core -j2 > build.log 2>&1 || { tail -50 build.log; exit 1; }
ctest --test-dir core --output-on-failure

# every function of the headers is there
sed -n 's/.*RP_API.*[ *]\(rp_[a-z0-9_]*\)(.*/\1/p' "$SOURCE"/include/repose/*.h | sort -u > declared.txt
nm -D --defined-only core/librepose.so | awk '{ print $3 }' | sort -u > defined.txt
[ "$(wc -l < declared.txt)" -gt 200 ] || { echo "only $(wc -l < declared.txt) functions were found in the headers"; exit 1; }
if comm -23 declared.txt defined.txt | grep .; then
    echo "these are declared, but not in the library"
    exit 1
fi
if command -v objdump > /dev/null; then
    objdump -p core/librepose.so | awk '/NEEDED/ { print $2 }' | grep -v -E '^(libc|libm|libgomp|libomp|libgcc_s|ld-linux.*)\.so' && { echo "the core needs more"; exit 1; }
fi
if cmake -S "$SOURCE" -B wrong -DREPOSE_COMPONENTS=nosuch > wrong.log 2>&1; then
    echo "an unknown component was taken"
    exit 1
fi
grep -q "There is no component 'nosuch'" wrong.log
rm -rf core wrong
