#!/bin/sh
# The benchmark command: a small measurement has what it should have; the comparison tells slower from noise; history and page are made.
set -eu

fail() { echo "bench: $*" >&2; exit 1; }

rm -rf out page history
"$REPOSE" bench --list > list.txt || fail "--list does not work"
grep -q '^collapse ' list.txt || fail "the list lacks the collapse"
"$REPOSE" bench collapse contacts --repeats 2 --steps 2 --threads 1 -o out/bench.json --history history --page page --quiet > table.txt \
    || fail "a small measurement fails"
grep -q '^collapse' table.txt || fail "no row for the collapse"
"$PYTHON" - <<'PY' || fail "the results are not what they should be"
import json
results = json.load(open("out/bench.json"))
assert results["machine"]["limits"][0]["triad_GB_per_s"] > 0.1, results["machine"]
scenes = [r for r in results["results"] if r["kind"] == "scene"]
assert len(scenes) == 1, scenes
row = scenes[0]
assert row["repeats"] == 2 and row["steps"] == 2 and row["threads"] == 1, row
assert row["seconds"] > 0 and row["spread"] >= 0 and row["median"] >= row["seconds"], row
assert row["nodes"] > 1000 and row["iterations"] >= 1 and row["memory"] > 1e6, row
parts = sum(row["phases"].values())
assert 0.5 * row["seconds"] < parts < 1.5 * row["seconds"], (parts, row["seconds"])
assert abs(row["ns_per_node_visit"] * row["node_visits_per_s"] - 1e9) < 1e6, row
assert any(r["name"] == "contacts" and r["failures"] == 0 and "scalar" in r["what"] for r in results["results"])
PY
ls history/*.csv > /dev/null || fail "no history"
[ "$(wc -l < "$(ls history/*.csv)")" = 2 ] || fail "the history should have a head and a row"
grep -q '`collapse`' page/performance.md || fail "the page lacks the collapse"
[ -s page/performance/scenes.png ] || fail "the page lacks its plot"

# Made-up results: 30 % slower with a spread of 2 % is slower, with one of 20 % is noise; what the machine itself did is no fault.
made() { # file seconds spread triad iterations
    cat > "$1" <<JSON
{"program": "repose 0", "date": "2000-01-01T00:00:00Z",
 "machine": {"processor": "Abacus \"A\"", "cores": 2, "load": 0, "limits": [{"threads": 1, "triad_GB_per_s": $4, "gflop_per_s": 50}]},
 "results": [{"name": "collapse", "kind": "scene", "threads": 1, "steps": 5, "seconds": $2, "spread": $3, "iterations": $5, "memory": 1e6}]}
JSON
}
made old.json 1.0 0.02 10 50
made slow.json 1.3 0.02 10 50
made noisy.json 1.3 0.20 10 50
made drift.json 1.3 0.02 7 50
made fast.json 0.5 0.02 10 50
made more.json 1.0 0.02 10 60
compare() { "$REPOSE" bench --from "$1" --compare old.json --quiet > compare.txt; }
if compare slow.json; then fail "30 % slower is not told"; fi
grep -q '^WORSE.*seconds a step' compare.txt || fail "no line says what got slower"
compare noisy.json || fail "noise is taken for slower"
compare drift.json || fail "a slower machine is taken for a slower program"
compare fast.json || fail "faster is a fault"
grep -q '^better' compare.txt || fail "faster is not told"
if compare more.json; then fail "more iterations are not told"; fi
compare old.json || fail "the same results differ"
grep -q '0 worse' compare.txt || fail "no summary"

if "$REPOSE" bench no-such-benchmark 2> message.txt; then fail "an unknown benchmark is taken"; fi
grep -q "no-such-benchmark" message.txt || fail "the message does not name it"
echo '{"results": [' > broken.json
if "$REPOSE" bench --from broken.json 2> message.txt; then fail "broken JSON is taken"; fi
grep -q 'broken.json is not JSON at byte' message.txt || fail "the message does not say where"
echo "bench: good"
