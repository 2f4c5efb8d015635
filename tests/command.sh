# The command as a person meets it: help, typing errors, exit codes, a folder in use, a run that diverges.
set -u
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# expect CODE WORD COMMAND...: the exit code, and a word in what it says
expect() {
    code=$1 word=$2
    shift 2
    said=$("$@" 2>&1 < /dev/null)
    got=$?
    [ "$got" = "$code" ] || fail "$* gave exit code $got, not $code: $said"
    case $said in *"$word"*) ;; *) fail "$* does not say '$word' but: $said" ;; esac
}

rm -rf ./*
expect 0 "usage: repose COMMAND" "$REPOSE"
expect 0 "commands:" "$REPOSE" --help
expect 0 "repose 0." "$REPOSE" --version
expect 2 "did you mean 'run'" "$REPOSE" rum
expect 2 "SCENE is missing" "$REPOSE" run
expect 2 "DIR is missing" "$REPOSE" resume
expect 2 "TO is missing" "$REPOSE" convert ran
cp "$SOURCE/scenes/rain-2d.yaml" my-dunes.yaml
expect 3 "did you mean 'my-dunes.yaml'" "$REPOSE" run my-dune.yaml
expect 3 "did you mean 'my-dunes.yaml'" "$REPOSE" run my-dunes
expect 3 "did you mean 'rain-2d'" "$REPOSE" run rain-2
expect 2 "no option '--treads'; did you mean '--threads'?" "$REPOSE" run rain --treads 3
expect 2 "whole number" "$REPOSE" run rain --threads two
expect 2 "not -3" "$REPOSE" run rain --threads -3
expect 2 "not -1" "$REPOSE" run rain --until -1
expect 3 "no scene 'nosuch'" "$REPOSE" run nosuch
expect 1 "" "$REPOSE" resume nosuch
expect 1 "" "$REPOSE" info nosuch
for name in $("$REPOSE" completion bash | sed -n 's/^ *options="\([a-z ]*\)"$/\1/p'); do
    expect 0 "usage: repose $name" "$REPOSE" "$name" --help
    expect 0 "usage: repose $name" "$REPOSE" help "$name"
done
"$REPOSE" completion bash > completion.bash
command -v bash > /dev/null && { bash -n completion.bash || fail "the completion script has a syntax error"; }
"$REPOSE" help --man > repose.1
if command -v mandoc > /dev/null; then
    mandoc -T lint -W error repose.1 || fail "the manual page has errors"
else
    echo "mandoc is not there: the manual page was not checked"
fi

cat > tiny.yaml << 'SCENE'
domain: [0.4, 0.4, 0.4]
cell_size: 5 cm
duration: 0.2 s
method: ballistic
grains:
  - shape: {sphere: {centre: [0.2, 0.2, 0.2], radius: 0.1}}
SCENE
sed 's/cell_size/cel_size/' tiny.yaml > typo.yaml
expect 3 "typo.yaml:2:1" "$REPOSE" run typo.yaml
expect 3 "cell_size" "$REPOSE" run typo.yaml
expect 3 "^" "$REPOSE" run typo.yaml
expect 0 "about_particles" "$REPOSE" info tiny.yaml
expect 0 '"kind": "scene"' "$REPOSE" info --json rain
expect 3 "typo.yaml:2:1" "$REPOSE" info typo.yaml
expect 3 "particles" "$REPOSE" run tiny.yaml --set "cell_size=1e-6"
expect 3 "--set" "$REPOSE" run tiny.yaml --set "cell_size=5 kg"
expect 0 "done:" "$REPOSE" run tiny.yaml -o ran
expect 1 "tiny.yaml is not a folder" "$REPOSE" run tiny.yaml -o tiny.yaml
expect 1 "--overwrite" "$REPOSE" run tiny.yaml -o ran
expect 0 "done:" "$REPOSE" run tiny.yaml -o ran --overwrite
# two at once in one folder: the second is refused, and the first goes on
"$REPOSE" run tiny.yaml -o busy --quiet --set "duration=1000 s" --set "output.frames=false" & child=$!
for try in 1 2 3 4 5 6 7 8 9 10; do [ -e busy/stats.csv ] && break; sleep 0.3; done
expect 1 "busy is in use" "$REPOSE" run tiny.yaml -o busy --overwrite
expect 1 "busy is in use" "$REPOSE" resume busy
kill -s INT $child
wait $child
[ $? = 130 ] || fail "the run that was there first did not go on"
expect 0 "already" "$REPOSE" resume busy --until 0.001
rm -rf busy

for file in scene.yaml stats.csv bodies.csv frames.vtkhdf.series frames/frame_000000.vtkhdf; do
    [ -s "ran/$file" ] || fail "the run left no $file"
done
expect 0 '"event":"done"' "$REPOSE" run tiny.yaml -o json --json
expect 0 "particles" "$REPOSE" info ran
expect 4 "run away" "$REPOSE" run tiny.yaml -o fast --set speed_limit=0.5
[ -s fast/dump.vtkhdf ] || fail "a diverged run left no dump"
# a step forced beyond what the elastic wave allows: exit code, dump, and the advice that helps
cat > stiff.yaml <<'EOF'
method: elastoplastic
domain: [0.8, 0.8]
cell_size: 5 cm
duration: 1 s
substeps: 4
material: {youngs_modulus: 1e8}
grains: [{shape: {box: {lower: [0, 0], upper: [0.4, 0.4]}}}]
EOF
expect 4 "integrator: implicit" "$REPOSE" run stiff.yaml -o stiff
[ -s stiff/dump.vtkhdf ] || fail "a diverged elastoplastic run left no dump"
expect 0 "particles" "$REPOSE" info stiff
expect 0 "done:" "$REPOSE" run stiff.yaml -o stiff --overwrite --set duration=0.1s --set elastoplastic.integrator=implicit
# the scene as run gives the same run again
expect 0 "done:" "$REPOSE" run ran/scene.yaml -o again
cmp -s ran/frames/frame_000004.vtkhdf again/frames/frame_000004.vtkhdf || fail "the scene as run gives another last frame"

[ "$failures" = 0 ] && echo "the command answers as it should"
[ "$failures" = 0 ]
