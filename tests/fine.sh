#!/bin/sh
# Fine grains from runs of any method of balls: pictures, files, other formats; scenes of other methods under pbd.
set -eu
cd "$SCRATCH"
rm -rf pbd contact scene-* t1 t5 *.yaml *.ply *.csv *.npz *.png
fail() { echo "FAILED: $*"; exit 1; }

for method in pbd contact; do
    cat > $method.yaml <<SCENE
title: Small
method: $method
domain: [0.3, 0.3, 0.4]
cell_size: 5 cm
duration: 0.1 s
frame_rate: 30
material: {density: 1600, friction: 0.4}
walls: {all: slip, bottom: 0.5, top: open}
grains: [{shape: {box: {lower: [0.05, 0.05, 0.02], upper: [0.25, 0.25, 0.25]}}}]
SCENE
    "$REPOSE" run $method.yaml -o $method --quiet --threads 1
    "$REPOSE" render $method --upsample 0.008 --frame last --size 64x48 --quality draft --quiet -o $method.png > /dev/null
    [ -s $method.png ] || fail "no picture of $method"
    last=$(ls $method/samples/fine-0.008/*.samples | tail -n 1)
    "$REPOSE" convert "$last" $method.csv
    "$REPOSE" convert "$last" $method.ply
    "$REPOSE" convert "$last" $method.npz
    particles=$(($(wc -l < $method.csv) - 1))
    [ "$particles" -gt 1000 ] || fail "$method has $particles fine grains"
    head -n 1 $method.csv | grep -q x || fail "the table of $method has no places"
done
code=0
"$REPOSE" convert "$last" all.pvd 2> err.txt || code=$?
[ $code = 2 ] && grep -q 'vtp, ply, csv' err.txt || fail "a frame alone became a collection"

# The same bytes for any number of threads, with fine grains made while the run goes on.
for threads in 1 5; do
    "$REPOSE" run pbd.yaml --set output.upsample=0.01 -o t$threads --quiet --threads $threads
    "$REPOSE" render t$threads --size 64x48 --quality draft --quiet --no-video --threads $threads > /dev/null
done
for file in t1/samples/fine-0.01/*.samples; do
    cmp "$file" "t5/${file#t1/}" || fail "fine grains depend on threads"
done

# Scenes that were made for other methods.
for scene in digging plough drum heap; do
    "$REPOSE" run $scene --set method=pbd --until 0.04 -o scene-$scene --quiet --threads 1 || fail "$scene does not run under pbd"
done
