#!/bin/sh
# The commands render, sheet and plot on a small run: files, what is kept, and a sentence for each thing that may be wrong.
set -eu
cd "$SCRATCH"
rm -rf run other empty mine pictures x.png small.yaml
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
# misused WORDS COMMAND...: the same, and the exit code is that of wrong usage
misused() {
    words=$1
    shift
    code=0
    "$@" > out.txt 2> err.txt || code=$?
    [ $code = 2 ] || fail "'$*' gave $code in place of 2"
    grep -q -e "$words" err.txt || { cat err.txt; fail "'$*' did not say '$words'"; }
}
# png_size FILE: width and height
png_size() { od -An -j16 -N8 -tu1 "$1" | awk '{ print ($1 * 256 + $2) * 65536 + $3 * 256 + $4, ($5 * 256 + $6) * 65536 + $7 * 256 + $8 }'; }
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

# Pictures of other settings are kept: the new ones have a folder of their own, found again by its settings.
"$REPOSE" render run $small --no-video --color velocity > out.txt
grep -qx run/pictures-2 out.txt || fail "the folder of other settings was not said"
cksum run/pictures/frame_*.png | cmp - before.txt || fail "pictures of other settings were touched"
[ "$(ls run/pictures-2/frame_*.png | wc -l)" = 6 ] || fail "not six pictures of other settings"
cmp -s run/pictures/frame_000003.png run/pictures-2/frame_000003.png && fail "other colours, the same pictures"
"$REPOSE" render run $small --no-video --color velocity.z > out.txt
grep -qx run/pictures-3 out.txt || fail "third settings, no third folder"
touch -d '2040-01-01' run/pictures-2/frame_000002.png
"$REPOSE" render run $small --no-video --color velocity > out.txt
grep -qx run/pictures-2 out.txt || fail "the folder of the same settings was not found again"
[ -n "$(find run/pictures-2/frame_000002.png -newermt '2039-01-01')" ] || fail "a finished picture of other settings was made again"
"$REPOSE" render run $small --no-video --color velocity --again --frame 2:3 > out.txt
[ -z "$(find run/pictures-2/frame_000002.png -newermt '2039-01-01')" ] || fail "--again kept a picture"
[ "$(ls run/pictures-2/frame_*.png | wc -l)" = 6 ] || fail "--again of two frames removed others"
misused "run/pictures holds pictures made with other settings (colour -); name another folder" \
    "$REPOSE" render run $small --no-video --color velocity -o run/pictures
cksum run/pictures/frame_*.png | cmp - before.txt || fail "a refused command touched pictures"
"$REPOSE" render run $small --no-video --color velocity -o run/pictures-3 --again --frame 1 > out.txt
[ "$(ls run/pictures-3/frame_*.png)" = run/pictures-3/frame_000001.png ] || fail "--again in a named folder left pictures of other settings"
mkdir mine && echo mine > mine/frame_000000.png
misused "mine holds pictures made with other settings (no settings.txt)" "$REPOSE" render run $small --no-video -o mine
grep -q mine mine/frame_000000.png || fail "a picture of somebody else was removed"

# One picture to a file; threads change nothing.
"$REPOSE" render run $small --frame 3 -o a.png --threads 1 > out.txt
"$REPOSE" render run $small --frame 3 -o b.png --threads 2 > out.txt
cmp a.png b.png || fail "threads changed a picture"
"$REPOSE" render run $small --frame last --grains 5 -o c.png > out.txt
[ -s c.png ] || fail "no picture with samples"

# What the method nonsmooth has on its nodes colours its grains.
sed 's/ballistic/nonsmooth/; s/0.1, 0.1, 0.1/0.1, 0.1, 0/' small.yaml > held.yaml
"$REPOSE" run held.yaml -o held --overwrite --quiet
for field in material velocity pressure phi volume_fraction friction region; do
    "$REPOSE" render held $small --frame last --no-legend --color $field -o held_$field.png > out.txt || fail "no picture of $field"
done
cmp held_phi.png held_volume_fraction.png || fail "phi is not the volume fraction"
for field in velocity pressure phi region; do
    cmp -s held_material.png held_$field.png && fail "$field has the colours of the material"
done
cmp -s held_pressure.png held_phi.png && fail "pressure has the colours of phi"
"$REPOSE" render held $small --size 320x240 --frame last --color region -o held_legend.png > out.txt
"$REPOSE" render held $small --size 320x240 --frame last --color region --no-legend -o held_region.png > out.txt
cmp -s held_legend.png held_region.png && fail "regions have no legend"
misused "no field 'hardening' to colour by; they have .*pressure, region, .*volume_fraction (or phi)" "$REPOSE" render held $small --color hardening

# Sheets and plots.
"$REPOSE" sheet run --count 4 --width 64 --quiet > out.txt
[ -s run/sheet.png ] || fail "no sheet"
"$REPOSE" plot run > out.txt
[ -s run/plots/energy.svg ] && [ -s run/plots/energy.png ] || fail "no plot of the energy"
cp -r run other
"$REPOSE" sheet run other --count 2 --width 64 --quiet -o both.png > out.txt
# The shape of the scene's picture, and a row for each run.
[ "$(png_size both.png)" = "137 111" ] || fail "two frames of two runs are not two pictures across and two down: $(png_size both.png)"
misused "at least 1" "$REPOSE" sheet run --count 0
"$REPOSE" plot --compare run other -o both > out.txt
grep -q '>other<' both/kinetic_energy.svg || fail "the second run is not in the overlay"

# What may be wrong.
refused "no folder" "$REPOSE" render nowhere
mkdir empty
refused "scene.yaml" "$REPOSE" render empty
misused "0x0" "$REPOSE" render run --size 0x0
misused "640x0" "$REPOSE" render run --size 640x0
misused "no frame '99'" "$REPOSE" render run --frame 99
misused "awful" "$REPOSE" render run --quality awful
misused "is not a view; right is auto" "$REPOSE" render run $small --view inside-out --frame 0 -o x.png
misused "no field 'taste' to colour by; they have position, .*velocity" "$REPOSE" render run $small --color taste --frame 0 -o x.png
misused "no field 'region'" "$REPOSE" render run $small --color region --frame 0 -o x.png
misused "3 components; 'velocity.q'\|no field" "$REPOSE" render run $small --color velocity.q --frame 0 -o x.png
misused "is not a view" "$REPOSE" sheet run --quiet --view inside-out
misused "no field 'taste'" "$REPOSE" sheet run --quiet --color taste
[ ! -e x.png ] || fail "a picture of nothing"
"$REPOSE" convert run/frames/frame_000000.vtkhdf first.csv > out.txt
inside=$(awk -F, 'NR == 2 { print $1 "," $2 "," $3 }' first.csv)
refused "inside a grain" "$REPOSE" render run $small --view "$inside" --frame 0 -o x.png
if (ulimit -f 8; "$REPOSE" render run --size 640x480 --quality draft --quiet --frame 3 -o full.png) > out.txt 2> err.txt; then
    fail "a picture without room"
fi
grep -q "cannot write the picture full.png" err.txt || { cat err.txt; fail "the full disk was not said"; }
[ ! -e full.png ] || fail "half a picture was left"
refused "cannot create" "$REPOSE" render run $small --frame 0 -o no/such/x.png
refused "plot --compare" "$REPOSE" plot run other
size=$(wc -c < other/frames/frame_000002.vtkhdf)
head -c $((size / 2)) run/frames/frame_000002.vtkhdf > other/frames/frame_000002.vtkhdf
rm -rf other/pictures
"$REPOSE" render other $small --no-video > out.txt 2> err.txt
grep -q "frame 2 is left out: .*frame_000002.vtkhdf cannot be read as a frame: .*cut short" err.txt || { cat err.txt; fail "a truncated frame was not said"; }
[ "$(ls other/pictures/frame_*.png | wc -l)" = 5 ] || fail "the other frames were not shown"
cp run/frames/frame_000002.vtkhdf other/frames/frame_000002.vtkhdf
head -c 20 run/frames/frame_000000.vtkhdf > other/frames/frame_000000.vtkhdf
rm -rf other/pictures
"$REPOSE" render other $small --no-video --color velocity > out.txt 2> err.txt # the first frame frames the others
grep -q "frame 0 is left out" err.txt || fail "a truncated first frame was not said"
[ "$(ls other/pictures/frame_*.png | wc -l)" = 5 ] || fail "the frames after a truncated one were not shown"
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
