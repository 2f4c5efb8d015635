#!/usr/bin/env python3
"""Writes the meshes of a serpent that wakes: serpent_00.obj and on, all with the same triangles.

Usage: tools/make_serpent.py [FOLDER]

It sleeps in a ring on the ground, breathes, then lifts neck and head out of the ring. The body is lofted along a curve from the tip of
the tail to the snout. z = 0 is the ground. RATE meshes a second.
"""
import math
import os
import sys

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "scenes", "serpent")
RATE, FRAMES = 12, 31
SECTIONS, AROUND = 40, 12
RING, LENGTH = 0.21, 1.50      # [m] radius of the ring, length of the body
NECK = 0.58                    # [m] that is lifted

# Along the body, from 0 (tail) to 1 (snout): half width and half height [m]
SHAPE = [(0.0, 0.010, 0.010), (0.12, 0.030, 0.030), (0.35, 0.055, 0.055), (0.60, 0.060, 0.060), (0.78, 0.046, 0.046),
         (0.86, 0.043, 0.043), (0.91, 0.060, 0.045), (0.95, 0.056, 0.040), (0.985, 0.034, 0.026), (1.0, 0.012, 0.010)]


def along(s, column):
    for a, b in zip(SHAPE, SHAPE[1:]):
        if s <= b[0]:
            t = (s - a[0]) / (b[0] - a[0])
            t = t * t * (3 - 2 * t)
            return a[column] + t * (b[column] - a[column])
    return SHAPE[-1][column]


def smooth(t):
    t = min(1.0, max(0.0, t))
    return t * t * t * (10 - 15 * t + 6 * t * t)


def centre(time):
    """Points of the middle line, by steps of equal length: along the ring, the neck bent upwards, the head bent level again."""
    wake = smooth((time - 0.5) / 1.5)
    breath = 1 + 0.05 * math.sin(2 * math.pi * time) * (1 - wake)
    fine, points, at = 400, [], [RING, 0.0, 0.0]
    heading = math.pi / 2
    for k in range(fine + 1):
        s = k / fine
        points.append((at[0], at[1], at[2] + along(s, 2) * breath))
        lifted = (s * LENGTH - (LENGTH - NECK)) / NECK
        pitch = 0.0
        if lifted > 0:   # up along the neck, then the head looks ahead and a little down
            pitch = wake * math.radians(78) * smooth(lifted / 0.35)
            if lifted > 0.66:
                pitch += wake * math.radians(-90) * smooth((lifted - 0.66) / 0.14)
        step = LENGTH / fine
        turn = step / RING * (1 - 0.75 * wake * smooth(lifted / 0.3)) if lifted > 0 else step / RING
        sway = 0.15 * wake * math.sin(2 * math.pi * (time - 1.2)) * step / RING if lifted > 0 else 0
        heading += turn * 0.93 + sway
        at[0] += step * math.cos(pitch) * math.cos(heading)
        at[1] += step * math.cos(pitch) * math.sin(heading)
        at[2] += step * math.sin(pitch)
    return points, breath


def mesh(time):
    points, breath = centre(time)
    n = len(points) - 1
    v = []
    for k in range(SECTIONS):
        s = 0.004 + 0.992 * k / (SECTIONS - 1)
        i = min(n - 1, max(1, int(round(s * n))))
        p, a, b = points[i], points[i - 1], points[i + 1]
        t = [b[c] - a[c] for c in range(3)]
        size = math.sqrt(sum(c * c for c in t))
        t = [c / size for c in t]
        flat = math.hypot(t[0], t[1])
        side = (t[1] / flat, -t[0] / flat, 0.0)
        up = (side[1] * t[2] - side[2] * t[1], side[2] * t[0] - side[0] * t[2], side[0] * t[1] - side[1] * t[0])
        w, h = along(s, 1) * breath, along(s, 2) * breath
        for j in range(AROUND):
            angle = 2 * math.pi * j / AROUND
            v.append(tuple(p[c] + w * math.cos(angle) * side[c] + h * math.sin(angle) * up[c] for c in range(3)))
    v.append(points[0])
    v.append(points[n])
    return v


def triangles():
    t, last = [], SECTIONS * AROUND
    for j in range(AROUND):
        nxt = (j + 1) % AROUND
        t.append((last, nxt, j))
        t.append((last + 1, (SECTIONS - 1) * AROUND + j, (SECTIONS - 1) * AROUND + nxt))
        for k in range(SECTIONS - 1):
            a, b, c, d = k * AROUND + j, k * AROUND + nxt, (k + 1) * AROUND + j, (k + 1) * AROUND + nxt
            t += [(a, b, d), (a, d, c)]
    return t


def volume(v, t):
    total = 0.0
    for a, b, c in t:
        p, q, r = v[a], v[b], v[c]
        total += (p[0] * (q[1] * r[2] - q[2] * r[1]) - p[1] * (q[0] * r[2] - q[2] * r[0]) + p[2] * (q[0] * r[1] - q[1] * r[0])) / 6
    return total


def main():
    os.makedirs(FOLDER, exist_ok=True)
    t = triangles()
    if volume(mesh(0), t) < 0:
        t = [(a, c, b) for a, b, c in t]
    for frame in range(FRAMES):
        with open(os.path.join(FOLDER, "serpent_%02d.obj" % frame), "w") as out:
            for p in mesh(frame / RATE):
                out.write("v %.4f %.4f %.4f\n" % p)
            for a, b, c in t:
                out.write("f %d %d %d\n" % (a + 1, b + 1, c + 1))


main()
