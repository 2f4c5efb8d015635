"""Shapes of scene files as distances, written apart from the program so that it is checked by something else.

Negative inside. Exact for the simple shapes; a bound for combined ones, which is enough to tell how deep a point lies."""
import numpy as np


def rotation_matrix(vector):
    """Rodrigues: the rotation by |v| about v."""
    vector = np.zeros(3) + np.asarray(vector, float)
    angle = np.linalg.norm(vector)
    if angle == 0:
        return np.eye(3)
    x, y, z = vector / angle
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def quaternion_matrix(q):
    w, x, y, z = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def three(vector, fill=0.0):
    out = np.full(3, float(fill))
    out[:len(vector)] = vector
    return out


def _segment(p, a, b):
    """Distance along and across the line a b."""
    length = np.linalg.norm(b - a)
    axis = (b - a) / length
    along = (p - a) @ axis
    return along, np.linalg.norm(p - a - along[:, None] * axis, axis=1), length


def _box(p, d):
    if "lower" in d:
        # in 2D the third bounds do not count: the section is at z = 0
        lower, upper = three(d["lower"], -1e9), three(d["upper"], 1e9)
    else:
        size = d["size"] if np.ndim(d["size"]) else [d["size"]] * 3
        half, centre = three(size, 2e9) / 2, three(d.get("centre", [0, 0, 0]))
        lower, upper = centre - half, centre + half
    q = np.maximum(lower - p, p - upper)
    outside = np.linalg.norm(np.maximum(q, 0), axis=1)
    return outside + np.minimum(q.max(axis=1), 0)


def _cylinder(p, d):
    along, across, length = _segment(p, three(d["from"]), three(d["to"]))
    q = np.stack([np.maximum(-along, along - length), across - d["radius"]], axis=1)
    return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)


def _capsule(p, d):
    a, b = three(d["from"]), three(d["to"])
    along, _, length = _segment(p, a, b)
    nearest = a + np.clip(along, 0, length)[:, None] * (b - a) / length
    return np.linalg.norm(p - nearest, axis=1) - d["radius"]


def _torus(p, d):
    axis = three(d["axis"])
    axis = axis / np.linalg.norm(axis)
    q = p - three(d.get("centre", [0, 0, 0]))
    height = q @ axis
    ring = np.linalg.norm(q - height[:, None] * axis, axis=1) - d["radius"]
    return np.hypot(ring, height) - d["tube"]


def _ellipsoid(p, d):
    """A bound of the distance: (|q| - 1) times the smallest semi-axis, q in the frame where it is a ball."""
    axes = three(d["semi_axes"], 1e9)
    return (np.linalg.norm((p - three(d.get("centre", [0, 0, 0]))) / axes, axis=1) - 1) * axes.min()


def _plane(p, d):
    normal = three(d["normal"])
    return (p - three(d.get("point", [0, 0, 0]))) @ (normal / np.linalg.norm(normal))


SIMPLE = {
    "sphere": lambda p, d: np.linalg.norm(p - three(d.get("centre", [0, 0, 0])), axis=1) - d["radius"],
    "box": _box, "cylinder": _cylinder, "capsule": _capsule, "torus": _torus, "ellipsoid": _ellipsoid, "plane": _plane,
}


def distance(shape, points):
    """Signed distance of points (n, 3) to the shape of a scene file."""
    scale = shape.get("scale", 1.0)
    p = (points - three(shape.get("position", [0, 0, 0]))) @ rotation_matrix(shape.get("rotation", [0, 0, 0])) / scale
    for kind, d in shape.items():
        if kind in SIMPLE:
            return scale * SIMPLE[kind](p, d)
        if kind == "union":
            return scale * np.min([distance(s, p) for s in d], axis=0)
        if kind == "intersection":
            return scale * np.max([distance(s, p) for s in d], axis=0)
        if kind == "difference":
            return scale * np.max([distance(d[0], p)] + [-distance(s, p) for s in d[1:]], axis=0)
        if kind == "complement":
            return -scale * distance(d, p)
        if kind == "shell":
            return scale * (np.abs(distance(d["shape"], p)) - d["thickness"] / 2)
    raise ValueError("no distance for %s" % list(shape))


def posed(shape, origin, matrix, points):
    """Distance to a shape whose own frame stands at `origin`, turned by `matrix`."""
    return distance(shape, (points - origin) @ matrix)


def reach(shape):
    """A radius about the origin of its frame that holds the shape."""
    far = np.linalg.norm(three(shape.get("position", [0, 0, 0])))
    for kind, d in shape.items():
        if kind == "sphere":
            own = np.linalg.norm(three(d.get("centre", [0]))) + d["radius"]
        elif kind == "box" and "lower" in d:
            own = np.linalg.norm(np.maximum(np.abs(three(d["lower"])), np.abs(three(d["upper"]))))
        elif kind == "box":
            own = np.linalg.norm(three(d.get("centre", [0]))) + np.linalg.norm(three(d["size"] if np.ndim(d["size"]) else [d["size"]] * 3)) / 2
        elif kind in ("cylinder", "capsule"):
            own = max(np.linalg.norm(three(d["from"])), np.linalg.norm(three(d["to"]))) + d["radius"]
        elif kind == "torus":
            own = np.linalg.norm(three(d.get("centre", [0]))) + d["radius"] + d["tube"]
        elif kind == "ellipsoid":
            own = np.linalg.norm(three(d.get("centre", [0]))) + max(d["semi_axes"])
        elif kind == "union":
            own = max(reach(s) for s in d)
        elif kind == "difference":
            own = reach(d[0])
        elif kind == "intersection":
            own = min(reach(s) for s in d)
        elif kind == "shell":
            own = reach(d["shape"]) + d["thickness"]
        elif kind in ("plane", "complement"):
            own = np.inf
        else:
            continue
        return far + own * shape.get("scale", 1.0)
    return 0.0


def mirrored(shape, sign, shift):
    """The shape after x -> sign x + shift_x (y and z only shifted); sign -1 is a mirror across x = 0."""
    zero = [0, 0, 0]

    def place(v, by):
        return [sign * v[0] + by[0]] + [v[i] + by[i] for i in range(1, len(v))]

    out = {}
    if "position" in shape or "rotation" in shape or "scale" in shape:
        # the pose takes the shift, the shape in its own frame only the mirror
        out["position"] = place(shape.get("position", zero), shift)
        if "rotation" in shape:
            out["rotation"] = mirrored_rotation(shape["rotation"], sign)
        if "scale" in shape:
            out["scale"] = shape["scale"]
        shift = zero
    for kind, d in shape.items():
        if kind in ("position", "rotation", "scale"):
            continue
        if kind in ("union", "intersection", "difference"):
            out[kind] = [mirrored(s, sign, shift) for s in d]
        elif kind == "complement":
            out[kind] = mirrored(d, sign, shift)
        elif kind == "shell":
            out[kind] = {"shape": mirrored(d["shape"], sign, shift), "thickness": d["thickness"]}
        elif kind == "box" and "lower" in d:
            a, b = place(d["lower"], shift), place(d["upper"], shift)
            out[kind] = dict(d, lower=[min(p, q) for p, q in zip(a, b)], upper=[max(p, q) for p, q in zip(a, b)])
        elif kind in ("cylinder", "capsule", "cone"):
            out[kind] = {**d, "from": place(d["from"], shift), "to": place(d["to"], shift)}
        elif kind == "plane":
            out[kind] = dict(d, point=place(d.get("point", zero), shift), normal=place(d["normal"], zero))
        elif kind == "torus":
            out[kind] = dict(d, centre=place(d.get("centre", zero), shift), axis=place(d["axis"], zero))
        else:
            out[kind] = dict(d, centre=place(d.get("centre", zero), shift))
    return out


def mirrored_rotation(vector, sign):
    """A rotation vector is axial: across x = 0 its x component stays, the others turn round."""
    return [vector[0], sign * vector[1], sign * vector[2]]
