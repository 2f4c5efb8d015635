#!/usr/bin/env python3
"""Writes the meshes of a boot that takes two steps: foot_00.obj and on, all with the same triangles.

Usage: tools/make_foot.py [FOLDER]

The boot is lofted from heel to toe. Each step comes down on the heel, rolls flat, presses, and pushes off: the heel rises while the toes
bend at the ball and stay. z = 0 is the ground before it gives way; x points ahead. RATE meshes a second.
"""
import math
import os
import sys

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "scenes", "foot")
RATE = 12
SECTIONS, AROUND = 15, 16
BALL = 0.095     # [m] where the toes bend
STRIDE, PERIOD, STEPS = 0.36, 1.5, 2

# Heel to toe: place, half width, top of the boot; [m]
PROFILE = [(-0.090, 0.022, 0.19), (-0.080, 0.034, 0.20), (-0.055, 0.038, 0.205), (-0.02, 0.038, 0.205), (0.01, 0.037, 0.19),
           (0.03, 0.036, 0.12), (0.05, 0.037, 0.085), (0.07, 0.041, 0.072), (0.09, 0.045, 0.064), (0.11, 0.047, 0.058),
           (0.13, 0.046, 0.053), (0.15, 0.042, 0.047), (0.165, 0.035, 0.041), (0.177, 0.025, 0.034), (0.184, 0.012, 0.026)]

# Within a step: time [s], ball ahead, ball up [m], pitch of the foot, pitch of the toes [degrees, toes up]
KEYS = [(0.00, -0.10, 0.12, 22, 22), (0.30, 0.00, 0.052, 20, 20), (0.50, 0.00, -0.015, 0, 0), (0.70, 0.00, -0.030, 0, 0),
        (0.95, 0.00, -0.033, -32, 0), (1.15, 0.05, 0.050, -50, -25), (1.30, 0.14, 0.120, -25, -25)]


def rest():
    """Vertices and triangles of the boot as it stands."""
    v = [(-0.094, 0.0, 0.08)]
    for x, w, top in PROFILE:
        for k in range(AROUND):
            a = 2 * math.pi * k / AROUND
            c, s = math.cos(a), math.sin(a)
            y = w * math.copysign(abs(c) ** 0.6, c)
            z = top / 2 * (1 + math.copysign(abs(s) ** 0.6, s))
            v.append((x, y, z))
    v.append((0.187, 0.0, 0.012))
    last, t = len(v) - 1, []
    for k in range(AROUND):
        m = (k + 1) % AROUND
        t.append((0, 1 + m, 1 + k))
        for s in range(SECTIONS - 1):
            a, b = 1 + s * AROUND + k, 1 + s * AROUND + m
            c, d = a + AROUND, b + AROUND
            t += [(a, b, d), (a, d, c)]
        t.append((last, last - AROUND + k, last - AROUND + m))
    return v, t


def pose(time):
    """Interpolated keys: smooth, at rest at each of them in height and pitch."""
    keys = [(t + PERIOD * n, x + STRIDE * n, *rest_of) for n in range(STEPS) for t, x, *rest_of in KEYS]
    for a, b in zip(keys, keys[1:]):
        if a[0] <= time < b[0]:
            f = (time - a[0]) / (b[0] - a[0])
            f = f * f * (3 - 2 * f)
            return [p + f * (q - p) for p, q in zip(a[1:], b[1:])]
    return keys[-1][1:]


def placed(v, time):
    """Vertices at a time: the foot turns about the ball, the toes by their own angle."""
    ahead, up, foot, toes = pose(time)
    out = []
    for x, y, z in v:
        f = min(1.0, max(0.0, (x - BALL + 0.015) / 0.03))
        a = math.radians(foot + f * (toes - foot))
        dx = x - BALL
        out.append((ahead + BALL + dx * math.cos(a) - z * math.sin(a), y, up + dx * math.sin(a) + z * math.cos(a)))
    return out


def main():
    os.makedirs(FOLDER, exist_ok=True)
    v, t = rest()
    count = int((PERIOD * (STEPS - 1) + KEYS[-1][0]) * RATE) + 1
    for n in range(count):
        with open(os.path.join(FOLDER, f"foot_{n:02d}.obj"), "w", encoding="ascii") as out:
            out.write("# a boot that walks, by tools/make_foot.py\n")
            for p in placed(v, n / RATE):
                out.write("v {:.4f} {:.4f} {:.4f}\n".format(*p))
            for a, b, c in t:
                out.write(f"f {a + 1} {b + 1} {c + 1}\n")
    print(f"{count} meshes of {len(v)} vertices and {len(t)} triangles in {FOLDER}")


if __name__ == "__main__":
    main()
