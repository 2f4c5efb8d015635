#!/bin/sh
# Every public header compiles alone, as C17 and as C++17, without a warning; and so does a header twice.
set -eu
count=0
for header in "$SOURCE"/include/repose/*.h; do
    name=repose/$(basename "$header")
    printf '#include <%s>\n#include <%s>\ntypedef int rp_test_not_empty;\n' "$name" "$name" > unit.c
    cp unit.c unit.cpp
    "$CC" -std=c17 -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I "$SOURCE/include" unit.c
    "$CXX" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I "$SOURCE/include" unit.cpp
    count=$((count + 1))
done
[ "$count" -ge 5 ]
# C++ sees C names
printf '#include <repose/result.h>\nint main() { return rp_result_text(RP_OK) == 0; }\n' > link.cpp
"$CXX" -std=c++17 -I "$SOURCE/include" -c link.cpp -o link.o
nm -u link.o | grep -qw rp_result_text
echo "$count headers compile alone"
