# A performance as a file: run, run again from the folder, stopped and resumed, under another method and finer.
set -u
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
rm -rf ./*
cat > scene.yaml << 'END'
method: ballistic
domain: [0.6, 0.4, 0.4]
cell_size: 5 cm
duration: 0.3 s
frame_rate: 20
walls: {all: slip, bottom: 0.5}
material: {preset: dry-sand, youngs_modulus: 10 kPa}
grains: [{shape: {box: {lower: [0.05, 0, 0], upper: [0.3, 0.4, 0.1]}}, per_cell: 2}]
bodies:
- {name: paddle, shape: {box: {lower: [-0.02, -0.15, 0], upper: [0.02, 0.15, 0.1]}}, position: [0.4, 0.2, 0.02]}
- {name: ball, kind: free, shape: {sphere: {radius: 5 cm}}, position: [0.5, 0.1, 0.3]}
output: {checkpoint_every: 0}
END
cat > moves.jsonl << 'END'
{"time":0,"kind":"body_target","body":"paddle","position":[0.37,0.2,0.02]}
{"time":0.03,"kind":"gravity","value":[0.3,0,-1.6]}
{"time":0.06,"kind":"body_target","body":"paddle","position":[0.25,0.2,0.02],"orientation":[0.98,0,0.2,0],"reach":0.21}
{"time":0.06,"kind":"body_push","body":"ball","force":[0,1,2.5]}

{"time":0.15,"kind":"material","material":0,"parameter":"cohesion","value":100}
END
run() { "$REPOSE" run scene.yaml --quiet --threads 1 "$@" || fail "run $*"; }
same() { # frames, checkpoints and journals to the byte
    for f in $(cd "$1" && find frames checkpoints actions.jsonl -type f); do
        cmp "$1/$f" "$2/$f" || fail "$1/$f differs from $2/$f"
    done
}

run -o first --actions moves.jsonl
[ "$(grep -c kind first/actions.jsonl)" -ge 6 ] || fail "actions.jsonl has $(grep -c kind first/actions.jsonl) lines"
run -o plain
[ -e plain/actions.jsonl ] && fail "a run without actions has a journal"
cmp -s first/frames/frame_000006.vtkhdf plain/frames/frame_000006.vtkhdf && fail "the actions change nothing"
run -o again --actions first
same first again
run -o halves --actions first --until 0.12
"$REPOSE" resume halves --quiet --threads 1 || fail "resume"
same first halves
run -o other --actions first --set method=elastoplastic
run -o finer --actions first --set cell_size=2.5cm
for run in other finer; do
    for t in 0.05 0.1 0.15 0.2 0.25 0.3; do
        a=$(awk -F, -v t=$t '$2 == t && /paddle/ { for (i = 4; i <= 10; i++) printf "%.12g ", $i }' first/bodies.csv)
        b=$(awk -F, -v t=$t '$2 == t && /paddle/ { for (i = 4; i <= 10; i++) printf "%.12g ", $i }' $run/bodies.csv)
        [ -n "$a" ] && [ "$a" = "$b" ] || fail "$run: at t = $t the paddle is at $b, not at $a"
    done
    grep -q ,action, $run/stats.csv || fail "$run: no step ends at an action"
done
# a body that comes while it runs: in bodies.csv and frames from then on, in pictures, after a stop, and gone when it is removed
cat > later.jsonl << 'END'
{"time":0.1,"kind":"body_add","body":{"name":"late","position":[0.2,0.2,0.25],"shape":{"shape":"sphere","numbers":[0,0,0,0.09]},"colour":[1,0,0]}}
{"time":0.25,"kind":"body_remove","body":"late"}
END
run -o later --actions later.jsonl
[ "$(awk -F, '/late/ && $2 > 0.1 && $2 <= 0.3' later/bodies.csv | wc -l)" -ge 3 ] || fail "bodies.csv has no rows of the body that came"
[ -z "$(awk -F, '/late/ && $2 < 0.1' later/bodies.csv)" ] || fail "bodies.csv has the body before it came"
run -o later-halves --actions later.jsonl --until 0.15
"$REPOSE" resume later-halves --quiet --threads 1 || fail "resume with a body that came"
same later later-halves
"$REPOSE" render later -o pictures --size 96x72 --quality draft --quiet || fail "rendering a run with a body that came"
"$PYTHON" - << 'PY' || fail "the body that came is not in the pictures, or stays when it is gone"
import glob, struct, zlib

def red(path):
    data, at, pixels, size = open(path, "rb").read(), 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            size = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            pixels += body
        at += 12 + length
    width, height, depth, colour = size
    step = {2: 3, 6: 4}[colour]
    raw, line, count = zlib.decompress(pixels), bytearray(width * step), 0
    for y in range(height):
        row = bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
        kind = raw[y * (width * step + 1)]
        for i in range(len(row)):
            a, b, c = row[i - step] if i >= step else 0, line[i], line[i - step] if i >= step else 0
            p = a + b - c
            paeth = a if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c) else b if abs(p - b) <= abs(p - c) else c
            row[i] = (row[i] + (0, a, b, (a + b) // 2, paeth)[kind]) & 255
        line = row
        count += sum(row[i] > 90 and row[i] > 2 * row[i + 1] and row[i] > 2 * row[i + 2] for i in range(0, len(row), step))
    return count

counts = [red(f) for f in sorted(glob.glob("pictures/*.png"))]
print("red pixels a frame:", counts)
assert len(counts) == 7, counts
assert counts[0] < 10 and counts[4] > 60 and counts[6] < 10, counts
PY

said=$("$REPOSE" run scene.yaml -o bad --quiet --actions nosuch.jsonl 2>&1) && fail "a journal that is not there was taken"
case $said in *nosuch.jsonl*) ;; *) fail "said: $said" ;; esac
echo '{"time":0,"kind":"gravty","value":[0,0,0]}' > bad.jsonl
said=$("$REPOSE" run scene.yaml -o bad --overwrite --quiet --actions bad.jsonl 2>&1) && fail "a bad journal was taken"
case $said in *"line 1 of the journal"*"did you mean 'gravity'"*) ;; *) fail "said: $said" ;; esac
[ "$failures" = 0 ]
