#!/bin/sh
# A run that was stopped and resumed leaves the same bytes as one that never was: Ctrl-C, kill -9 at any moment and in the middle
# of a checkpoint, a full disk, a damaged checkpoint. Tables are compared without their times (ms_...).
set -u
: "${REPOSE:?}" "${SOURCE:?}"
[ -x "$REPOSE" ] || { echo "skipped: no command at $REPOSE"; exit 77; }
# In memory where possible: a run syncs a hundred times, and there are many runs. (kill -9 leaves what was written either way.)
work=${SCRATCH:-.}/resume
[ -d /dev/shm ] && [ -w /dev/shm ] && work=/dev/shm/repose-resume-$$
mounted=
exec 3>&2
clean_up() {
    [ -z "$mounted" ] || umount "$mounted" 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT
clean_up
mkdir -p "$work" && cd "$work" || exit 1
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0"

fail() {
    echo "FAILED: $*" >&3
    exit 1
}

cat > scene.yaml <<'YAML'
method: ballistic
domain: [1, 1, 1]
cell_size: 5 cm
duration: 0.6 s
frame_rate: 25
material: dry-sand
walls: {all: slip, bottom: 0.5}
grains:
  - {name: cloud, shape: {sphere: {centre: [0.5, 0.5, 0.6], radius: 20 cm}}, velocity: [0.3, 0, 0], sampling: jittered}
emitters:
  - {name: rain, shape: {box: {lower: [0.1, 0.1, 0.9], upper: [0.9, 0.9, 0.95]}}, rate: 20 l/s, velocity: [0, 0, -1]}
bodies:
  - {name: ball, shape: {sphere: {radius: 10 cm}}, position: [0.5, 0.5, 0.2], surface: 0.4}
  - {name: paddle, shape: {box: {size: [0.3, 0.06, 0.06]}}, motion: "0.8, 0.5, 0.15, 0, 0, 3 * t"}
output: {checkpoint_every: 0, checkpoints_kept: 3}
YAML

# One thread is enough, and steadier where many tests run at once.
run() { "$REPOSE" run scene.yaml --quiet --threads 1 -o "$@"; }
resume() { "$REPOSE" resume --quiet --threads 1 "$@"; }

# Everything but the times of stats.csv.
without_times() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) keep[i] = $i !~ /^ms_/ }
             { row = ""; for (i = 1; i <= NF; i++) if (keep[i]) row = row "," $i; print row }' "$1"
}
same() {
    for file in whole/frames/*; do
        cmp -s "$file" "$1/frames/${file##*/}" || fail "$1: ${file##*/} differs from the run that was never stopped ($2)"
    done
    [ "$(ls whole/frames)" = "$(ls "$1/frames")" ] || fail "$1: other frames than in the run that was never stopped ($2)"
    for file in frames.vtkhdf.series bodies.csv scene.yaml "checkpoints/$last"; do
        cmp -s "whole/$file" "$1/$file" || fail "$1: $file differs ($2)"
    done
    without_times "$1/stats.csv" > stats.txt
    cmp -s whole.txt stats.txt || fail "$1: stats.csv differs ($2)"
    [ -z "$(find "$1" -name '*.part')" ] || fail "$1: half-written files are left ($2)"
    rm -r "$1"
}
# Resumes, or begins again when not even the first checkpoint was there.
go_on() {
    if ! resume "$1" 2> go_on.txt; then
        grep -q "holds no checkpoint\|is not a folder" go_on.txt || fail "$1: resume: $(cat go_on.txt) ($2)"
        run "$1" --overwrite || fail "$1: run again ($2)"
    fi
    same "$1" "$2"
}

begin=$(date +%s%N)
run whole || fail "the run itself"
length=$((($(date +%s%N) - begin) / 1000000))
last=$(cd whole/checkpoints && echo step_*.checkpoint | awk '{ print $NF }')
without_times whole/stats.csv > whole.txt
[ "$(ls whole/checkpoints | wc -l)" = 3 ] || fail "three checkpoints should be kept"
[ "$(ls whole/frames | wc -l)" = 16 ] || fail "sixteen frames should be there"

# A second run is the same, and with another number of threads.
run again --threads 2 || fail "the second run"
same again "a second run"

# A finished run resumes to itself; a folder with a run is not overwritten by accident.
cp -r whole done && resume done && same done "resume of a finished run"
run whole 2> message.txt && fail "a run was overwritten without being asked"
grep -q "holds a run already" message.txt || fail "no sentence about the run that is there: $(cat message.txt)"

# Ctrl-C: exit code 130, and a checkpoint of that very step. Twice in one run.
seconds() { awk -v ms="$1" 'BEGIN { printf "%.3f", ms / 1000 }'; }
stop_with() { # signal, milliseconds, command...
    signal=$1 wait_for=$2
    shift 2
    "$@" & child=$!
    sleep "$(seconds "$wait_for")"
    kill -s "$signal" $child 2>/dev/null
    wait $child
}
stopped=0
for part in 20 35 50 65 80; do
    stop_with INT $((length * part / 100)) "$REPOSE" run scene.yaml --quiet --threads 1 -o interrupted 2>/dev/null
    code=$?
    if [ $code = 130 ]; then
        stopped=$((stopped + 1))
        stop_with INT $((length / 5)) "$REPOSE" resume --quiet --threads 1 interrupted 2>/dev/null
        code=$?
        [ $code = 130 ] || [ $code = 0 ] || fail "the second Ctrl-C: exit code $code"
    else
        [ $code = 0 ] || fail "Ctrl-C: exit code $code"
    fi
    go_on interrupted "Ctrl-C at $part %"
done
[ $stopped -gt 0 ] || fail "no run was interrupted: all were too fast"

# kill -9 at moments spread over the run; each run is killed, resumed, killed again.
killed=0
for part in 7 18 29 41 52 63 74 85 96; do
    stop_with KILL $((length * part / 100)) "$REPOSE" run scene.yaml --quiet --threads 1 -o killed 2>/dev/null
    [ $? = 137 ] && killed=$((killed + 1))
    stop_with KILL $((length / 4)) "$REPOSE" resume --quiet --threads 1 killed 2>/dev/null
    go_on killed "kill -9 at $part %"
done 2>/dev/null
[ $killed -gt 0 ] || fail "no run was killed: all were too fast"

# The same at exact places: in the middle of a file, before and after its rename.
if "${CC:-cc}" -shared -fPIC -o accident.so "$SOURCE/tests/resume_parts/accident.c" -ldl 2> compile.txt; then
    for accident in "half .checkpoint 1" "half .checkpoint 5" "before .checkpoint 5" "after .checkpoint 5" "half .vtkhdf.part 7" \
        "before .vtkhdf 7" "after .vtkhdf 7" "before .series 4" "after .series 4" "after .checkpoint 16"; do
        ACCIDENT=$accident LD_PRELOAD=./accident.so run crashed 2>/dev/null
        [ $? = 137 ] || fail "the accident '$accident' did not happen"
        case $accident in
        "half .checkpoint"*) [ -n "$(find crashed/checkpoints -name '*.part')" ] || fail "'$accident' left no part file" ;;
        esac
        go_on crashed "$accident"
    done 2>/dev/null
    for accident in "full .checkpoint 1" "full .checkpoint 5" "full .vtkhdf 7" "full .series 3" "full stats.csv 6"; do
        ACCIDENT=$accident LD_PRELOAD=./accident.so run full 2> message.txt
        code=$?
        [ $code = 1 ] || fail "a full disk ('$accident'): exit code $code"
        grep -q "No space left" message.txt || fail "a full disk without a sentence: $(cat message.txt)"
        go_on full "$accident"
    done
else
    echo "without accidents at exact places: the compiler failed: $(cat compile.txt)"
fi

# A limit on the size of files stands for a full disk where none can be mounted.
middle=$(ls -l whole/frames | awk 'NR > 1 { size[NR] = $5 } END { print size[int(NR / 2)] }') # they grow with the rain
(ulimit -f $((middle / 512)) && run limited 2> message.txt)
code=$?
[ $code = 1 ] || fail "a limit on the size of files: exit code $code"
grep -q "cannot write.*File too large" message.txt || fail "a limit on the size of files without a sentence: $(cat message.txt)"
[ "$(ls limited/frames | wc -l)" -gt 2 ] || fail "the limit on the size of files struck too early"
go_on limited "a limit on the size of files"

# A disk that is really full.
mkdir disk
half=$(($(du -sk whole | cut -f 1) / 2))
if mount -t tmpfs -o size=${half}k tmpfs disk 2>/dev/null; then
    mounted=$PWD/disk
    run disk/run 2> message.txt
    code=$?
    [ $code = 1 ] || fail "a full disk: exit code $code"
    grep -q "No space left" message.txt || fail "a full disk without a sentence: $(cat message.txt)"
    resume disk/run 2> message.txt && fail "the disk was still full"
    mount -o remount,size=$((half * 4))k "$mounted" || fail "remount"
    go_on disk/run "a full disk"
    umount "$mounted" && mounted=
else
    echo "without a full disk: nothing can be mounted here"
fi

# A damaged newest checkpoint: the one before is used. All damaged: refused with a sentence.
stop_with KILL $((length * 80 / 100)) "$REPOSE" run scene.yaml --quiet --threads 1 -o damaged 2>/dev/null
[ "$(ls damaged/checkpoints/*.checkpoint | wc -l)" -ge 2 ] || { rm -rf damaged; cp -r whole damaged; }
newest=$(ls damaged/checkpoints/*.checkpoint | tail -n 1)
dd if=/dev/zero of="$newest" bs=1 seek=1000 count=64 conv=notrunc 2>/dev/null
resume damaged 2> message.txt || fail "resume with a damaged checkpoint: $(cat message.txt)"
[ -e "$newest.damaged" ] || fail "the damaged checkpoint was not put aside"
grep -q "damaged checkpoint" message.txt || fail "no word about the damaged checkpoint: $(cat message.txt)"
same damaged "a damaged checkpoint"
cp -r whole refused
for file in refused/checkpoints/*.checkpoint; do
    echo rubbish > "$file"
done
resume refused 2> message.txt && fail "damaged checkpoints were accepted"
grep -q "holds no sound checkpoint.*is not a checkpoint of Repose" message.txt || fail "refused without a sentence: $(cat message.txt)"
for file in whole/frames/*; do
    cmp -s "$file" "refused/frames/${file##*/}" || fail "a refused resume changed ${file##*/}"
done

# --until between two frames: the state of that very time, and a resumed run that does not know of it. Also in resume, again and at
# a frame, and beyond the end.
last_time() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time") c = i; if (!c) exit } { t = $c } END { print t }' "$1/stats.csv"; }
run until --until 0.1 || fail "--until 0.1"
[ "$(last_time until)" = 0.1 ] || fail "--until 0.1 ended at $(last_time until) s"
"$REPOSE" info --json until/last.vtkhdf > info.txt || fail "no state of --until"
grep -q '"time": *0.1[,} ]*$\|"time": *0.1[,}]' info.txt || fail "the last state is not of 0.1 s: $(cat info.txt)"
[ "$(awk -F, 'END { print $4 }' until/stats.csv)" != until ] || fail "0.1 s should be the end of a whole step here"
resume until --until 0.05 2> message.txt || fail "resume --until in the past"
resume until --until 0.25 || fail "resume --until 0.25"
[ "$(last_time until)" = 0.25 ] || fail "resume --until 0.25 ended at $(last_time until) s"
[ "$(awk -F, 'END { print $4 }' until/stats.csv)" = until ] || fail "0.25 s should be the end of a shortened step here"
[ -e until/last.vtkhdf ] || fail "no state of resume --until 0.25"
resume until --until 0.28 || fail "resume --until 0.28"
[ "$(last_time until)" = 0.28 ] || fail "resume --until 0.28, a frame, ended at $(last_time until) s"
[ ! -e until/last.vtkhdf ] || fail "a state beside the frames is left although the run has gone on"
go_on until "--until"
run until --until 0 || fail "--until 0"
[ "$(ls until/frames)" = frame_000000.vtkhdf ] || fail "--until 0 should make the first frame and no other"
go_on until "--until 0"
run until --until 7 || fail "--until after the end"
same until "--until after the end"

# The other methods, which keep more than particles between steps, with actions from outside: killed after a checkpoint in the middle of
# a fall, between one action and the next.
others=
cat > moves.jsonl <<'JSON'
{"time":0.02,"kind":"body_push","body":"ball","force":[1,0.5,0]}
{"time":0.11,"kind":"gravity","value":[0.3,-9,0]}
{"time":0.17,"kind":"body_push","body":"ball","force":[-1,0,0]}
JSON
for method in nonsmooth elastoplastic pbd contact diphasic; do
    [ -e accident.so ] || continue
    room='[1, 0.6]' lower='[0.1, 0.02]' upper='[0.4, 0.4]' place='[0.6, 0.3]' dense=4
    case $method in
    diphasic) more='fluid: {density: 1000, viscosity: 0.01}' ;;
    contact) # fibres are in space
        room='[1, 0.3, 0.6]' lower='[0.1, 0, 0.02]' upper='[0.4, 0.3, 0.3]' place='[0.6, 0.15, 0.3]' dense=0.3
        more='fibres: [{curve: [[0.55, 0.15, 0.55], [0.8, 0.15, 0.45]], radius: 5 mm, segments: 6, youngs_modulus: 1 MPa, root: clamped}]'
        ;;
    pbd) more='pbd: {radius: 2 cm}' ;;
    *) more= ;;
    esac
    cat > "$method.yaml" <<YAML
method: $method
domain: $room
cell_size: 5 cm
duration: 0.2 s
frame_rate: 25
material: dry-sand
walls: {all: slip, bottom: 0.5}
grains:
  - {name: block, shape: {box: {lower: $lower, upper: $upper}}, sampling: jittered, per_cell: $dense}
bodies:
  - {name: ball, kind: free, shape: {sphere: {radius: 8 cm}}, position: $place}
output: {checkpoint_every: 0}
$more
YAML
    "$REPOSE" run "$method.yaml" --quiet --threads 1 -o "$method" --actions moves.jsonl 2> message.txt || fail "$method: $(cat message.txt)"
    ACCIDENT="after .checkpoint 4" LD_PRELOAD=./accident.so "$REPOSE" run "$method.yaml" --quiet --threads 2 -o "$method.killed" \
        --actions moves.jsonl 2> /dev/null
    [ $? = 137 ] || fail "$method was not killed"
    resume "$method.killed" 2> message.txt || fail "$method: resume: $(cat message.txt)"
    for file in "$method"/frames/* "$method/bodies.csv" "$method/actions.jsonl" "$method/fibres.vtkhdf.series"; do
        [ -e "$file" ] || continue
        cmp -s "$file" "$method.killed/${file#"$method"/}" || fail "$method: ${file#"$method"/} differs from the run that was never stopped"
    done
    [ "$(grep -c kind "$method/actions.jsonl")" -ge 3 ] || fail "$method: the journal has $(grep -c kind "$method/actions.jsonl") actions"
    others="$others $method"
done

# Nothing to resume.
mkdir empty
resume empty 2> message.txt && fail "an empty folder was resumed"
grep -q "holds no checkpoint" message.txt || fail "no sentence: $(cat message.txt)"
grep -q "begin again" message.txt && fail "a folder without a scene cannot begin again: $(cat message.txt)"
# A run that ended before its first checkpoint: the command that is told works, and from its own scene the run is the same.
run early || fail "no run"
rm -r early/checkpoints early/frames
resume early 2> message.txt && fail "a run without a checkpoint was resumed"
grep -q "begin again: repose run early/scene.yaml --output early --overwrite" message.txt || fail "no way to go on: $(cat message.txt)"
"$REPOSE" run early/scene.yaml --output early --overwrite --quiet --threads 1 || fail "the run did not begin again"
same early "begun again"
echo "resumed to the byte: $stopped interrupted and $killed killed runs, among others; also:${others:- no other method}; a run takes $length ms"
