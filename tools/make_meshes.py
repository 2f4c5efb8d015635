#!/usr/bin/env python3
"""Writes the small meshes of tests/data/meshes: good ones in each format, and broken ones.

Usage: tools/make_meshes.py [FOLDER]
"""
import base64
import json
import math
import os
import struct
import sys

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "tests", "data", "meshes")


def cube(half=0.5, centre=(0, 0, 0)):
    """Eight corners, twelve triangles facing outwards."""
    v = [tuple(centre[a] + (half if n >> a & 1 else -half) for a in range(3)) for n in range(8)]
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    t = []
    for a, b, c, d in quads:
        t += [(a, b, c), (a, c, d)]
    return v, t


def sphere(radius=1.0, level=2):
    """An octahedron split `level` times, its vertices on the sphere."""
    v = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    t = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    for _ in range(level):
        middle, split = {}, []

        def mid(a, b):
            key = (min(a, b), max(a, b))
            if key not in middle:
                m = [v[a][i] + v[b][i] for i in range(3)]
                n = math.sqrt(sum(x * x for x in m))
                v.append(tuple(x / n for x in m))
                middle[key] = len(v) - 1
            return middle[key]

        for a, b, c in t:
            ab, bc, ca = mid(a, b), mid(b, c), mid(c, a)
            split += [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
        t = split
    return [tuple(radius * x for x in p) for p in v], t


def torus(radius=1.0, tube=0.3, n=24, m=12):
    v, t = [], []
    for i in range(n):
        for j in range(m):
            a, b = 2 * math.pi * i / n, 2 * math.pi * j / m
            r = radius + tube * math.cos(b)
            v.append((r * math.cos(a), r * math.sin(a), tube * math.sin(b)))
            p, q = i * m + j, (i + 1) % n * m + j
            s, w = i * m + (j + 1) % m, (i + 1) % n * m + (j + 1) % m
            t += [(p, q, w), (p, w, s)]
    return v, t


def foot(press):
    """A box with rounded sole, bent at the toes by `press`."""
    v, t = sphere(1.0, 2)
    moved = []
    for x, y, z in v:
        bend = press * max(0.0, x) ** 2
        moved.append((0.13 * x, 0.05 * y, 0.04 * z + 0.1 * bend))
    return moved, t


def write(name, text):
    mode = "wb" if isinstance(text, bytes) else "w"
    with open(os.path.join(FOLDER, name), mode) as f:
        f.write(text)


def obj(v, t):
    lines = ["v %.9g %.9g %.9g" % p for p in v]
    lines += ["f %d %d %d" % tuple(i + 1 for i in k) for k in t]
    return "\n".join(lines) + "\n"


def stl(v, t):
    out = [b"repose test mesh".ljust(80, b"\0"), struct.pack("<I", len(t))]
    for k in t:
        out.append(struct.pack("<12fH", 0, 0, 0, *(x for i in k for x in v[i]), 0))
    return b"".join(out)


def ply(v, t):
    head = "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\n" % len(v)
    head += "element face %d\nproperty list uchar int vertex_indices\nend_header\n" % len(t)
    return head + "".join("%.9g %.9g %.9g\n" % p for p in v) + "".join("3 %d %d %d\n" % k for k in t)


def gltf(v, t, translation):
    """Positions and indices in one embedded buffer; the node moves them."""
    points = b"".join(struct.pack("<3f", *p) for p in v)
    indices = b"".join(struct.pack("<3H", *k) for k in t)
    data = indices + b"\0" * (-len(indices) % 4) + points
    start = len(data) - len(points)
    return json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "translation": list(translation)}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 1}, "indices": 0}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5123, "count": 3 * len(t), "type": "SCALAR"},
            {"bufferView": 1, "componentType": 5126, "count": len(v), "type": "VEC3",
             "min": [min(p[i] for p in v) for i in range(3)], "max": [max(p[i] for p in v) for i in range(3)]}],
        "bufferViews": [{"buffer": 0, "byteOffset": 0, "byteLength": len(indices)},
                        {"buffer": 0, "byteOffset": start, "byteLength": len(points)}],
        "buffers": [{"byteLength": len(data),
                     "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}],
    }) + "\n"


def main():
    os.makedirs(FOLDER, exist_ok=True)
    v, t = cube()
    write("cube.obj", obj(v, t))
    write("cube.stl", stl(v, t))
    write("cube.ply", ply(v, t))
    write("cube.gltf", gltf(v, t, (0, 0, 2)))
    write("torus.ply", ply(*torus()))
    sv, st = sphere()
    write("sphere.obj", obj(sv, st))
    # broken ones that can be mended
    write("inside_out.obj", obj(sv, [(a, c, b) for a, b, c in st]))
    write("flipped.obj", obj(sv, [(a, c, b) if n % 7 == 0 else (a, b, c) for n, (a, b, c) in enumerate(st)]))
    write("hole.obj", obj(sv, st[:-1]))
    write("hole_flipped.obj", obj(sv, [(a, c, b) if n % 20 == 3 else (a, b, c) for n, (a, b, c) in enumerate(st[:-2])]))
    inner = [(a, c, b) for a, b, c in st]
    both = sv + [tuple(0.5 * x for x in p) for p in sv]
    write("hollow.obj", obj(both, st + [tuple(i + len(sv) for i in k) for k in inner]))
    cv, ct = cube(0.5, (0.6, 0.1, 0.2))
    write("overlapping.obj", obj(v + cv, t + [tuple(i + 8 for i in k) for k in ct]))
    write("fin.obj", obj(v + [(0, 0, 0.9)], t + [(4, 5, 8)]))  # a sheet on an edge: three triangles there
    # hopeless ones
    write("sheet.obj", obj([(0, 0, 0), (1, 0, 0), (1, 1, 0.1), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)]))
    write("cup.obj", obj(v, t[:2] + t[4:]))  # no lid
    write("half.obj", obj(sv, [k for k in st if all(sv[i][2] <= 1e-9 for i in k)]))
    write("nan.obj", obj(v, t).replace("v 0.5 0.5 0.5", "v 0.5 nan 0.5"))
    write("infinite.obj", obj(v, t).replace("v 0.5 0.5 0.5", "v 0.5 1e39 0.5"))
    write("empty.obj", "# nothing\n")
    write("points.obj", obj(v, []))
    write("index.obj", obj(v, t[:-1] + [(6, 7, 90)]))
    write("flat.obj", obj([(x, y, 0) for x, y, z in v], t))
    write("short.stl", stl(v, t)[:300])
    write("text.ply", "this is no mesh at all\n")
    write("foreign.xyz", "0 0 0\n")
    # a sequence
    for n in range(3):
        write("foot_%d.obj" % n, obj(*foot(0.5 * n)))
    write("foot_other.obj", obj(*sphere(0.1, 1)))


main()
