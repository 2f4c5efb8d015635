#!/bin/sh
# repose friction as a user meets it: exit codes, table, JSON, solutions that another tool can check, profiles, refusals.
set -eu
data="$SOURCE/tests/data/fclib"
rm -rf out profile && mkdir -p out

"$REPOSE" friction solve "$data/Rover4613.hdf5" "$data/ColumnCollapse-ndof-124-nc-73-1.hdf5" --output out > table
grep -q "Rover4613.hdf5 .* solved " table
test "$(wc -l < table)" -eq 3

# the copy is a problem of its own, and its answer solves it at once
"$REPOSE" friction solve out/Rover4613.hdf5 --json > line
"$PYTHON" - <<'PYTHON_END'
import json
lines = [json.loads(l) for l in open("line")]
assert len(lines) == 1
one = lines[0]
assert one["status"] == "solved" and one["residual_mean"] <= 1e-6 and one["contacts"] == 5, one
assert one["seconds"] >= 0 and one["iterations"] >= 0
PYTHON_END

# limits: not solved is said and is exit code 1
code=0; "$REPOSE" friction solve "$data/OneObject-i100000-316.hdf5" --solver pg --tolerance 1e-12 --max-iterations 3 > table 2> messages || code=$?
test $code -eq 1
grep -q "not converged" table
grep -q "1 of 1 problems not solved" messages

"$REPOSE" friction bench "$data/Rover4613.hdf5" "$data/Box_Stacks-i0122-82-5.hdf5" --solvers auto,gs,apgd --output profile > table
grep -q "^apgd " table
head -1 profile/profile.csv | grep -q "ratio,auto,gs,apgd"
test "$(wc -l < profile/times.csv)" -eq 3
grep -q "</svg>" profile/profile.svg
test -s profile/profile.png
grep -q '^| `apgd` ' profile/profile.md
grep -q "is within twice the best time" profile/profile.md
"$REPOSE" friction bench --contacts --problems 300 | grep -q "^  6  scalar .* 0.000%"
"$REPOSE" friction info | grep -q "cadoux"
"$REPOSE" friction info "$data/Rover4613.hdf5" | grep -q "dimension 3"

# refusals
code=0; "$REPOSE" friction solve "$SOURCE/LAYERS" > table 2> messages || code=$?
test $code -eq 1 && grep -q "not an HDF5 file" messages
code=0; "$REPOSE" friction solve no_such_file.hdf5 > table 2> messages || code=$?
test $code -eq 1 && grep -q "No such file" messages
code=0; "$REPOSE" friction solve > table 2> messages || code=$?
test $code -eq 2
code=0; "$REPOSE" friction solve "$data/Rover4613.hdf5" --solver magic > table 2> messages || code=$?
test $code -eq 2 && grep -q "magic" messages
code=0; "$REPOSE" friction dance > table 2> messages || code=$?
test $code -eq 2
echo "repose friction behaves"
