#!/bin/sh
# The commands render, sheet and plot on a small run: files, what is kept, and a sentence for each thing that may be wrong.
set -eu
cd "$SCRATCH"
rm -rf run other empty pictures x.png small.yaml
cat > small.yaml <<'SCENE'
title: Small
method: ballistic
domain: [0.4, 0.3, 0.4]
cell_size: 2.5 cm
duration: 0.2 s
frame_rate: 25
material: dry-sand
walls: {all: slip, bottom: 0.5}
grains:
  - {shape: {box: {lower: [0.1, 0.1, 0.1], upper: [0.2, 0.2, 0.2]}}}
SCENE
"$REPOSE" run small.yaml -o run --quiet

fail() { echo "FAILED: $*"; exit 1; }
# refused WORDS COMMAND...: the command fails and says the words on standard error
refused() {
    words=$1
    shift
    if "$@" > out.txt 2> err.txt; then fail "'$*' did not fail"; fi
    grep -q -e "$words" err.txt || { cat err.txt; fail "'$*' did not say '$words'"; }
}
small="--size 64x48 --quality draft --quiet"

# Pictures, a video, and finished ones kept.
have_ffmpeg=1
command -v ffmpeg > /dev/null || have_ffmpeg=0
if [ $have_ffmpeg = 1 ]; then
    "$REPOSE" render run $small > out.txt
    grep -q film.mp4 out.txt || fail "no video was said"
    [ -s run/pictures/film.mp4 ] || fail "no video was made"
    "$REPOSE" render run $small --video run/film.webm > out.txt
    [ -s run/film.webm ] || fail "no webm was made"
else
    "$REPOSE" render run $small --no-video > out.txt
fi
[ "$(ls run/pictures/frame_*.png | wc -l)" = 6 ] || fail "not six pictures"
cksum run/pictures/frame_*.png > before.txt
touch -d '2040-01-01' run/pictures/frame_000002.png
touch -d '2001-01-01' run/pictures/frame_000003.png
rm run/pictures/frame_000004.png
"$REPOSE" render run $small --no-video > out.txt
cksum run/pictures/frame_*.png | cmp - before.txt || fail "pictures made again differ"
[ -n "$(find run/pictures/frame_000002.png -newermt '2039-01-01')" ] || fail "a finished picture was made again"
[ -n "$(find run/pictures/frame_000003.png -newermt '2002-01-01')" ] || fail "a picture older than its frame was kept"
"$REPOSE" render run $small --no-video --color velocity > out.txt
cksum run/pictures/frame_*.png | cmp -s - before.txt && fail "other colours, the same pictures"

# One picture to a file; threads change nothing.
"$REPOSE" render run $small --frame 3 -o a.png --threads 1 > out.txt
"$REPOSE" render run $small --frame 3 -o b.png --threads 2 > out.txt
cmp a.png b.png || fail "threads changed a picture"
"$REPOSE" render run $small --frame last --grains 5 -o c.png > out.txt
[ -s c.png ] || fail "no picture with samples"

# Sheets and plots.
"$REPOSE" sheet run --count 4 --width 64 --quiet > out.txt
[ -s run/sheet.png ] || fail "no sheet"
"$REPOSE" plot run > out.txt
[ -s run/plots/energy.svg ] && [ -s run/plots/energy.png ] || fail "no plot of the energy"
cp -r run other
"$REPOSE" plot --compare run other -o both > out.txt
grep -q '>other<' both/kinetic_energy.svg || fail "the second run is not in the overlay"

# What may be wrong.
refused "no folder" "$REPOSE" render nowhere
mkdir empty
refused "scene.yaml" "$REPOSE" render empty
refused "0x0" "$REPOSE" render run --size 0x0
refused "no frame '99'" "$REPOSE" render run --frame 99
refused "awful" "$REPOSE" render run --quality awful
refused "is not a view" "$REPOSE" render run $small --view inside-out --frame 0 -o x.png
refused "no field 'taste'" "$REPOSE" render run $small --color taste --frame 0 -o x.png
refused "cannot create" "$REPOSE" render run $small --frame 0 -o no/such/x.png
refused "plot --compare" "$REPOSE" plot run other
size=$(wc -c < other/frames/frame_000002.vtkhdf)
head -c $((size / 2)) run/frames/frame_000002.vtkhdf > other/frames/frame_000002.vtkhdf
rm -rf other/pictures
"$REPOSE" render other $small --no-video > out.txt 2> err.txt
grep -q "frame 2 is left out" err.txt || fail "a truncated frame was not said"
[ "$(ls other/pictures/frame_*.png | wc -l)" = 5 ] || fail "the other frames were not shown"
rm -rf other/frames
refused "no frames" "$REPOSE" render other
"$REPOSE" render run $small --no-video > out.txt
if PATH=/nonexistent "$REPOSE" render run $small > out.txt 2> err.txt; then fail "a video without ffmpeg"; fi
grep -q "ffmpeg is not installed" err.txt || fail "the missing ffmpeg was not said"
if [ $have_ffmpeg = 1 ]; then # no room for the video: the pictures stay
    rm -f run/pictures/film.mp4
    if (ulimit -f 2; "$REPOSE" render run $small) > out.txt 2> err.txt; then fail "a video without room"; fi
    grep -q "pictures are kept" err.txt || { cat err.txt; fail "the full disk was not said"; }
    [ ! -e run/pictures/film.mp4 ] || fail "half a video was left"
    [ "$(ls run/pictures/frame_*.png | wc -l)" = 6 ] || fail "pictures were lost"
fi
echo "render, sheet and plot are as they should be"
