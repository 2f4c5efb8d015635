# Nothing lost, nothing silent: what a run does with slips of the pen, odd files, full disks and links.
set -u
failed=0
fail() { echo "FAILED: $*"; failed=1; }
says() { grep -q -- "$2" "$1" || { fail "'$2' is not said:"; cat "$1"; }; }
cd "$SCRATCH" || exit 1
rm -rf ./* 2> /dev/null

cat > scene.yaml <<'S'
domain: [0.4, 0.3]
cell_size: 0.05
duration: 0.2
frame_rate: 20
method: ballistic
materials: {sand: {density: 2000, friction_angle: 30 degrees}}
grains: [{shape: {box: {lower: [0, 0], upper: [0.2, 0.2]}}, material: sand}]
bodies: [{shape: {sphere: {radius: 0.05}}, position: [0.3, 0.1]}, {name: body2, shape: {sphere: {radius: 0.02}}, position: [0.3, 0.25]}, {shape: {sphere: {radius: 0.02}}, position: [0.35, 0.25]}]
S

# a run that starts empty has every column of its method
cat > empty.yaml <<'S'
domain: [0.4, 0.3]
cell_size: 0.05
duration: 0.2
frame_rate: 20
walls: {all: slip}
emitters: [{shape: {box: {lower: [0.1, 0.2], upper: [0.3, 0.3]}}, velocity: [0, -1, 0], start: 0.1}]
S
"$REPOSE" run empty.yaml -o empty -q --threads 1 || fail "a run that starts empty"
head -1 empty/stats.csv > columns
for column in stick slide contacts dissipated_power ms_solve ms_split; do says columns ",$column"; done

# slips of the pen
"$REPOSE" run scene.yaml -o never --set materials.snad.friction=0.5 2> message && fail "a material that nothing is made of"
says message "no grains and no emitter are made of a material 'snad'; did you mean 'sand'"
"$REPOSE" run scene.yaml -o never --set materials.sand.friction_angle=30 2> message && fail "30 radians"
says message "in radians"
says message "did you mean '30 deg'"
[ -e never ] && fail "a refused scene leaves a folder"
"$REPOSE" run scene.yaml -o units -q --threads 1 --until 75ms || fail "--until 75ms"
tail -1 units/stats.csv | grep -q '^[0-9]*,0.075,' || fail "--until 75ms ends at $(tail -1 units/stats.csv | cut -d, -f2)"
"$REPOSE" run scene.yaml -o never --until 5kg 2> message && fail "--until 5kg"
says message "a mass"

# bodies without a name
"$REPOSE" run scene.yaml -o named -q --threads 1 || fail "bodies without names"
says named/bodies.csv ',body0,'
says named/bodies.csv ',body2,'
says named/bodies.csv ',body2_,'

# what is no file
mkfifo pipe.yaml pipe.obj pipe.vtkhdf
mkdir folder.obj folder.vtkhdf
ln -s /dev/zero zero.obj
ln -s /dev/zero zero.yaml
for odd in pipe folder zero; do
    printf 'domain: [1, 1, 1]\ncell_size: 0.1\ngrains: [{shape: {mesh: {file: %s.obj}}}]\n' $odd > mesh.yaml
    timeout 20 "$REPOSE" run mesh.yaml -o never 2> message
    [ $? -eq 3 ] || fail "a mesh that is a $odd"
    says message "not a file"
done
for odd in pipe.yaml zero.yaml folder.obj; do
    timeout 20 "$REPOSE" run $odd -o never 2> message
    [ $? -eq 3 ] || fail "a scene that is $odd"
    says message "not a file"
done
for odd in pipe.vtkhdf folder.vtkhdf /dev/zero; do
    timeout 20 "$REPOSE" convert $odd out.csv 2> message && fail "a frame that is $odd"
done
timeout 20 "$REPOSE" friction solve pipe.vtkhdf 2> message && fail "a friction problem that is a pipe"

# a full disk behind standard output
for words in "schema" "scenes" "info scene.yaml" "--version" "help" "completion bash"; do
    "$REPOSE" $words > /dev/full 2> message && fail "repose $words > /dev/full"
    says message "could not be written"
done

# --quiet keeps warnings
cat > hard.yaml <<'S'
domain: [0.4, 0.3]
cell_size: 0.025
duration: 0.1
frame_rate: 20
nonsmooth: {max_iterations: 1, min_iterations: 1, tolerance: 1e-12, tolerance_max: 1e-12}
grains: [{shape: {box: {lower: [0, 0], upper: [0.2, 0.3]}}}]
S
"$REPOSE" run hard.yaml -o hard -q --threads 1 2> message
grep -q ',0,' hard/stats.csv && says message "iteration limit"

# links in the place of what a run writes
mkdir elsewhere && touch elsewhere/frame_000099.vtkhdf
cp -r named linked && rm -rf linked/frames && ln -s ../elsewhere linked/frames
"$REPOSE" run scene.yaml -o linked --overwrite -q 2> message && fail "a run through a link"
says message "symbolic link"
"$REPOSE" resume linked -q 2> message && fail "resume through a link"
says message "symbolic link"
[ -e elsewhere/frame_000099.vtkhdf ] || fail "a file behind a link was removed"
[ "$(ls elsewhere)" = frame_000099.vtkhdf ] || fail "something was written through a link"

exit $failed
