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

"$REPOSE" run scene.yaml -o never --set cell_size= 2> message && fail "a value that was left out"
says message "--set cell_size=: 'cell_size' has no value"
"$REPOSE" run colapse 2> message && fail "a scene that there is not"
says message "did you mean 'collapse'?"
"$REPOSE" run qwrtz 2> message && fail "a word"
grep -q "did you mean" message && fail "a scene is proposed for any word"
"$REPOSE" plot scene.yaml 2> message && fail "plots of a scene"
says message "scene.yaml is a file, not the folder of a run"

# commands that messages propose can be pasted
"$REPOSE" run scene.yaml -o "it's here" --threads 1 --until 75ms 2> message || fail "a folder with a blank"
says message "repose resume 'it'\\\\''s here'"
"$REPOSE" run scene.yaml -o "it's here" 2> message && fail "a second run into one folder"
says message "repose resume 'it'\\\\''s here'"

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
timeout 20 "$REPOSE" friction solve pipe.vtkhdf > /dev/null 2> message && fail "a friction problem that is a pipe"

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
says message "iteration limit"

# a body that jumps is told at once, in the step in which it does
cat > jump.yaml <<'S'
domain: [0.4, 0.3]
cell_size: 0.025
duration: 0.2
frame_rate: 20
method: ballistic
grains: [{shape: {box: {lower: [0, 0], upper: [0.1, 0.1]}}}]
bodies: [{name: hopping, shape: {sphere: {radius: 0.02}}, motion: {expression: "t < 0.07 and 0.1 or 0.3, 0.2, 0"}}]
S
"$REPOSE" run jump.yaml -o jump -q --threads 1 2> message || fail "a body that jumps"
says message "body 'hopping' moves 0.2 m in the step at t = 0.0"

# links in the place of what a run writes
mkdir elsewhere && touch elsewhere/frame_000099.vtkhdf
cp -r named linked && rm -rf linked/frames && ln -s ../elsewhere linked/frames
"$REPOSE" run scene.yaml -o linked --overwrite -q 2> message && fail "a run through a link"
says message "symbolic link"
"$REPOSE" resume linked -q 2> message && fail "resume through a link"
says message "symbolic link"
[ -e elsewhere/frame_000099.vtkhdf ] || fail "a file behind a link was removed"
[ "$(ls elsewhere)" = frame_000099.vtkhdf ] || fail "something was written through a link"

# meshes are part of the run: copied, hashed, no longer needed where they were
cat > cube.obj <<'S'
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
f 1 3 2
f 1 4 3
f 5 6 7
f 5 7 8
f 1 2 6
f 1 6 5
f 2 3 7
f 2 7 6
f 3 4 8
f 3 8 7
f 4 1 5
f 4 5 8
S
cat > meshes.yaml <<'S'
domain: [0.5, 0.4, 0.4]
cell_size: 0.05
duration: 0.2
frame_rate: 20
method: ballistic
grains: [{shape: {box: {lower: [0, 0, 0.2], upper: [0.5, 0.4, 0.3]}}}]
bodies: [{name: "a \"cube\"", shape: {mesh: {file: cube.obj, unit: 10 cm}}, position: [0.2, 0.1, 0]}]
output: {checkpoint_every: 0}
S
"$REPOSE" run meshes.yaml -o whole -q --threads 1 || fail "a run with a mesh"
"$REPOSE" run meshes.yaml -o cut -q --threads 1 --until 0.1 || fail "a run with a mesh, half of it"
ls cut/files | grep -q '^cube-[0-9a-f]*\.obj$' || fail "the mesh is not in the run: $(ls cut/files)"
grep -q "$SCRATCH" cut/scene.yaml && fail "the scene of the run names files outside it"
cp -r cut changed
mv cube.obj elsewhere/
mv cut moved
"$REPOSE" resume moved -q --threads 1 || fail "resume without the original mesh, in a folder that was moved"
for frame in 0 1 2 3 4; do cmp whole/frames/frame_00000$frame.vtkhdf moved/frames/frame_00000$frame.vtkhdf || fail "frame $frame after resume"; done
"$REPOSE" render moved -o picture.png --frame 2 --size 48x32 --quality draft --threads 1 > /dev/null 2> message || { fail "render without the original mesh"; cat message; }
copy=$(ls changed/files/cube-*.obj)
echo "v 9 9 9" >> "$copy"
"$REPOSE" resume changed -q 2> message && fail "resume with another mesh"
says message "has changed since the run began"
mv elsewhere/cube.obj .
"$REPOSE" run meshes.yaml -o changed --overwrite -q --threads 1 || fail "overwriting a run with a mesh"
[ "$(ls changed/files | wc -l)" = 1 ] || fail "old meshes stay behind"

# and so are images
printf 'P2\n3 2\n255\n0 40 80\n20 60 100\n' > hills.pgm
cat > image.yaml <<'S'
domain: [0.5, 0.4, 0.4]
cell_size: 0.05
duration: 0.2
frame_rate: 20
method: ballistic
grains: [{shape: {box: {lower: [0, 0, 0.2], upper: [0.5, 0.4, 0.3]}}}]
bodies: [{name: hills, shape: {heightfield: {image: hills.pgm, lower: [0, 0], upper: [0.5, 0.4], high: 0.3}}}]
output: {checkpoint_every: 0}
S
"$REPOSE" run image.yaml -o hills -q --threads 1 || fail "a run with an image"
"$REPOSE" run image.yaml -o hills-cut -q --threads 1 --until 0.1 || fail "a run with an image, half of it"
cp -r hills-cut hills-changed
rm hills.pgm
"$REPOSE" resume hills-cut -q --threads 1 || fail "resume without the original image"
cmp hills/frames/frame_000004.vtkhdf hills-cut/frames/frame_000004.vtkhdf || fail "the last frame after resume with an image"
for copy in hills-changed/files/hills-*.pgm; do echo 9 >> "$copy"; done
"$REPOSE" resume hills-changed -q 2> message && fail "resume with another image"
says message "has changed since the run began"

# checksums
"$REPOSE" info --check whole > message || { fail "a sound run"; cat message; }
says message "are sound"
cp -r whole damaged
printf 'x' | dd of=damaged/frames/frame_000002.vtkhdf bs=1 seek=5000 conv=notrunc 2> /dev/null
"$REPOSE" info --check damaged > message 2> /dev/null && fail "a damaged frame"
says message "frame_000002.vtkhdf does not agree with its checksum"
truncate -s -20 damaged/frames/frame_000003.vtkhdf
"$REPOSE" info --check damaged > message 2> /dev/null && fail "a cut frame"
says message "frame_000003.vtkhdf has no checksum"
"$REPOSE" info --check damaged/frames/frame_000001.vtkhdf > message || fail "one sound frame"

# files of fibres are among them, and told by info
cat > rope.yaml <<'S'
domain: {lower: [-0.4, -0.4, 0], upper: [0.4, 0.4, 1.2]}
cell_size: 10 cm
duration: 0.1 s
frame_rate: 20
method: contact
fibres: [{root: clamped, radius: 4 mm, youngs_modulus: 0.6 MPa, density: 1400, friction: 0.4, segments: 4, path: "return 0, 0, 1 - 0.5 * s"}]
S
"$REPOSE" run rope.yaml -o rope -q --threads 1 --until 0.07 || fail "a rope"
"$REPOSE" info --check rope > message || fail "a sound run of fibres"
"$REPOSE" info rope/frames/fibres_000001.vtkhdf > message || fail "info of fibres"
says message "fibres *1$"
says message "nodes *5$"
for file in frames/fibres_000001.vtkhdf last.vtkhdf; do
    cp -r rope cut && truncate -s -20 cut/$file
    "$REPOSE" info --check cut > message 2> /dev/null && fail "$file cut short is sound"
    says message "${file##*/} has no checksum"
    rm -r cut
done
# another run in the folder leaves nothing of this one
"$REPOSE" run scene.yaml -o rope --overwrite -q --threads 1 || fail "another run in the folder of a rope"
[ -e rope/fibres.vtkhdf.series ] && fail "a list of fibres that are gone"

# convert goes on after a bad frame
head -c 3000 whole/frames/frame_000001.vtkhdf > damaged/frames/frame_000001.vtkhdf
"$REPOSE" convert damaged rows.csv 2> message && fail "convert tells of bad frames by its exit code"
says message "left out"
for frame in 0 4; do [ -s rows_00000$frame.csv ] || fail "frame $frame was not converted"; done
[ -e rows_000001.csv ] && fail "a bad frame was converted"
"$REPOSE" convert damaged all.usda 2> message && fail "convert to one file tells of bad frames"
[ -s all.usda ] || fail "the sound frames are not in one file"

# written problems lie in the run, and their numbers go on after a resume
for bad in /tmp/problems ../problems a/../../b; do
    "$REPOSE" run hard.yaml -o never --set nonsmooth.dump_folder=$bad 2> message && fail "dump_folder=$bad"
    says message "inside that of the run"
done
"$REPOSE" run hard.yaml -o dumped -q --threads 1 --dump-problems 100 --set output.checkpoint_every=0 2> /dev/null || fail "problems"
"$REPOSE" run hard.yaml -o dumped2 -q --threads 1 --dump-problems 100 --set output.checkpoint_every=0 --until 0.05 2> /dev/null || fail "problems, half"
(cd dumped2 && "$REPOSE" resume ../dumped2 -q --threads 1 2> /dev/null) || fail "problems, the other half"
[ "$(ls dumped/problems)" = "$(ls dumped2/problems)" ] || fail "problems after a resume: $(ls dumped/problems | wc -l) and $(ls dumped2/problems | wc -l)"
[ "$(ls dumped/problems | wc -l)" -gt 1 ] || fail "problems were written"
[ -e problems ] && fail "problems beside the run"
# a run over another one does not keep its problems, and none are written through a link
"$REPOSE" run hard.yaml -o dumped2 --overwrite -q --threads 1 2> /dev/null || fail "over a run with problems"
[ -e dumped2/problems ] && fail "problems of the run before"
mkdir -p elsewhere2 && ln -s ../elsewhere2 dumped2/mine
"$REPOSE" run hard.yaml -o dumped2 --overwrite -q --threads 1 --dump-problems 1 --set nonsmooth.dump_folder=mine 2> message && fail "problems through a link"
says message "mine is a symbolic link"
[ -z "$(ls elsewhere2)" ] || fail "a problem behind a link"

# threads that wait let others work: set before the runtime starts, once, and never against the user
env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT -u KMP_BLOCKTIME "$REPOSE" run hard.yaml -o waiting -q --threads 2 2> /dev/null || fail "a run that starts itself anew"
OMP_WAIT_POLICY=active "$REPOSE" run hard.yaml -o active -q --threads 2 2> /dev/null || fail "a run as the user wants it"
for run in waiting active; do cmp hard/frames/frame_000002.vtkhdf $run/frames/frame_000002.vtkhdf || fail "$run: other bytes"; done

# on a busy machine fewer threads are used, which is told; who asks for more gets them; the bytes are the same
cat > load.c <<'S'
#include <stdlib.h>
int getloadavg(double load[], int count)
{
    for (int i = 0; i < count; i++)
        load[i] = atof(getenv("LOAD"));
    return count;
}
S
if [ -z "${SANITIZE:-}" ] && [ "$(nproc)" -gt 1 ] && "${CC:-cc}" -shared -fPIC -o load.so load.c 2> /dev/null; then
    LOAD=100 LD_PRELOAD=./load.so "$REPOSE" run hard.yaml -o busy 2> message || fail "a run on a busy machine"
    says message "the machine is busy (a load of 100.0 on $(nproc) cores), so 1 thread is used"
    LOAD=100 LD_PRELOAD=./load.so "$REPOSE" run hard.yaml -o busy2 --threads 2 2> message || fail "two threads on a busy machine"
    grep -q "is busy" message && fail "a busy machine is told to who asked for two threads"
    LOAD=0 LD_PRELOAD=./load.so "$REPOSE" run hard.yaml -o idle 2> message || fail "a run on an idle machine"
    grep -q "is busy" message && fail "an idle machine is said to be busy"
    LOAD=100 LD_PRELOAD=./load.so "$REPOSE" run scene.yaml -o never --set cell_size=5kg 2> message && fail "a cell of 5 kg"
    grep -q "is busy" message && fail "a busy machine is told of where nothing runs"
    for run in busy busy2 idle; do cmp hard/frames/frame_000002.vtkhdf $run/frames/frame_000002.vtkhdf || fail "$run: other bytes"; done
fi

# what emitters will bring is estimated
"$REPOSE" info empty.yaml > message || fail "info of a scene with an emitter"
says message "about_emitted"

exit $failed
