#!/bin/sh
# The validation runner: two cheap cases pass, the report and the pages are whole, a broken case is shown as failing.
set -eu

fail() { echo "validate: $*" >&2; exit 1; }

"$REPOSE" validate --list > list.txt || fail "--list does not work"
for folder in "$SOURCE"/validation/*/; do
    name=$(basename "$folder")
    grep -q "^$name " list.txt || fail "validation/$name has no comparison in the program"
done
if grep -q ' s  costly *$' list.txt; then fail "a case has no title: its case.yaml is missing or broken"; fi

rm -rf out page cases
"$REPOSE" validate contact-law free-fall -o out --page page --threads 1 > table.txt || { cat table.txt; fail "a cheap case fails"; }
grep -q '^contact-law: pass' table.txt || fail "no row for contact-law"
grep -q '2 cases, 0 failed' table.txt || fail "no summary"
"$PYTHON" - <<'PY' || fail "report.json is not what it should be"
import json
report = json.load(open("out/report.json"))
assert report["cases"] == 2 and report["failed"] == 0, report
rows = [row for result in report["results"] for row in result["rows"]]
assert len(rows) == 14 and all(row["passed"] for row in rows), rows
PY
grep -q 'contact-law.*pass' page/validation.md || fail "the page lacks a verdict"
grep -q '^### free-fall' page/validation.md || fail "the page lacks a section"

# A tolerance that nothing meets must fail the case, and the exit code must tell.
mkdir cases
cp -r "$SOURCE/validation/." cases/
sed 's/^speed: .*/speed: 1e-30/' "$SOURCE/validation/free-fall/case.yaml" > cases/free-fall/case.yaml
if "$REPOSE" validate free-fall --cases cases -o out2 --threads 1 > failing.txt; then fail "a failing case exits with 0"; fi
grep -q 'FAIL' failing.txt || fail "a failing row is not shown"
if "$REPOSE" validate no-such-case 2> message.txt; then fail "an unknown case is taken"; fi
grep -q "no-such-case" message.txt || fail "the message does not name the unknown case"
echo "validate: good"
