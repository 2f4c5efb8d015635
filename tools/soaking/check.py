"""What must hold of any run, computed from its files alone: frames, stats.csv, bodies.csv and the scene it was given."""
import csv
import glob
import math
import os

import h5py
import numpy as np

from . import geometry
from .generate import capability

# The limits. Each is told with the number that broke it.
VOLUME = 0.02         # volume packed more tightly than possible, a part of all of it
PACKING = 1.1         # the tightest place, in units of the largest volume fraction
BODY_DEPTH = 0.1      # cells a particle may be inside a body
MOMENTUM = 0.01       # of the impulse of the weight over a frame, with the momentum there is
ENERGY = 0.02         # of the energy that moves about: heights of the bed, motion, work
GROWTH = 4            # particles in all, of those put in
CROWD = 8             # particles in a cell, of those put in; 128 are always fine (twice nonsmooth.most_per_cell)
ELLIPSOID = 3.0       # longest semi-axis of a particle, cells
REST = 0.05           # speed (root mean square) that counts as rest, of √(g h)
SINK = 0.5            # cells that the centre of a bed at rest may go down while it settles
GRAVITY = 9.81


class Frame:
    def __init__(self, path):
        with h5py.File(path, "r") as f:
            g = f["VTKHDF"]
            self.x = g["Points"][()].astype(float)
            self.fields = {k: g["PointData"][k][()] for k in g["PointData"]}
            meta = f["REPOSE"].attrs
            self.time, self.step, self.frame = float(meta["time"]), int(meta["step"]), int(meta["frame"])
            self.bodies = {}
            if "bodies" in f["REPOSE"]:
                b = f["REPOSE/bodies"]
                for i, name in enumerate(b["name"][()]):
                    self.bodies[name.decode().rstrip("\0")] = {k: b[k][i] for k in b if k != "name"}
        self.count = len(self.x)
        self.mass = self.fields.get("mass", np.zeros(self.count))
        self.velocity = self.fields.get("velocity", np.zeros((self.count, 3)))


class Run:
    """The files of one run beside its scene."""

    def __init__(self, folder, scene, code, messages):
        self.folder, self.scene, self.code, self.messages = folder, scene, code, messages
        self.dim = len(scene["domain"]) if isinstance(scene["domain"], list) else len(scene["domain"]["lower"])
        self.up = self.dim - 1
        self.h = scene["cell_size"]
        if isinstance(scene["domain"], list):
            self.lower = np.zeros(self.dim)
            size = np.array(scene["domain"], float)
        else:
            self.lower = np.array(scene["domain"]["lower"], float)
            size = np.array(scene["domain"]["upper"], float) - self.lower
        self.cells = np.maximum(1, np.ceil(size / self.h - 1e-6).astype(int))   # the last cell is made whole
        self.upper = self.lower + self.cells * self.h
        self.frames = [Frame(p) for p in sorted(glob.glob(folder + "/frames/frame_*.vtkhdf"))]
        self.stats = table(folder + "/stats.csv")
        self.body_rows = table(folder + "/bodies.csv")
        self.gravity = gravity(scene, self.dim)
        self.materials = list(scene.get("materials", {}).values())
        self.method = scene["method"]

    def column(self, name):
        return np.array([float(r[name]) if r.get(name) else math.nan for r in self.stats])

    def wall(self, axis, side):
        return wall_kind(self.scene.get("walls", "slip"), self.dim, axis, side)

    def bulk(self, frame):
        """Volume that the grains of each particle need when packed as tightly as they can be."""
        out = np.zeros(frame.count)
        for i, m in enumerate(self.materials):
            mine = frame.fields["material"] == i
            out[mine] = frame.mass[mine] / m["density"] / m["volume_fraction"]
        return out

    def body_pose(self, body, frame):
        """Where the body's own frame stands: files have the centre of mass, the first frame tells where that is in the shape."""
        state, first = frame.bodies[body["name"]], self.frames[0].bodies[body["name"]]
        offset = np.zeros(3)
        if body.get("kind") == "free":
            turn = geometry.rotation_matrix(body.get("rotation", [0, 0, 0]))
            offset = turn.T @ (first["position"] - geometry.three(body.get("position", [0, 0, 0])))
        matrix = geometry.quaternion_matrix(state["orientation"])
        return state["position"] - matrix @ offset, matrix, bool(state["present"])


def table(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return list(csv.DictReader(f))


def gravity(scene, dim):
    g = scene.get("gravity", 9.81)
    out = np.zeros(3)
    if isinstance(g, list):
        out[:len(g)] = g
    elif isinstance(g, dict):
        tilt = math.radians(float(str(g.get("tilt", "0 deg")).split()[0]))
        toward = g.get("toward", "+x")
        out[dim - 1] = -g.get("magnitude", 9.81) * math.cos(tilt)
        out["xyz".index(toward[1])] += (1 if toward[0] == "+" else -1) * g.get("magnitude", 9.81) * math.sin(tilt)
    else:
        out[dim - 1] = -g
    return out


FACES = {0: ("left", "right"), 1: ("front", "back"), 2: ("bottom", "top")}


def wall_kind(walls, dim, axis, side):
    if not isinstance(walls, dict):
        value = walls
    else:
        pair = FACES[2] if axis == dim - 1 else FACES[axis]
        value = "slip"
        for key in ("all", "sides" if axis != dim - 1 else "all", "xyz"[axis], pair[side], "-+"[side] + "xyz"[axis]):
            value = walls.get(key, value)
    if isinstance(value, dict):
        value = value.get("kind", "frictional")
    return value if isinstance(value, str) else "frictional"


# ---- the checks; each gives sentences for what does not hold ----

def finished(run):
    if run.code == 4:
        told = [line for line in run.messages.splitlines() if " t = " in line] or run.messages.strip().splitlines()
        yield "diverged: " + told[-1][:200]
    elif run.code != 0:
        yield "exit code %d: %s" % (run.code, run.messages.strip()[-300:])
    elif not run.frames or not run.stats:
        yield "no frames or no stats.csv"


def finite(run):
    for f in run.frames:
        for name, value in list(f.fields.items()) + [("position", f.x)]:
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                yield "%s is not finite in frame %d" % (name, f.frame)
                return
        if f.count and not (f.mass > 0).all():
            yield "a mass is not above zero in frame %d" % f.frame
            return
        if len(np.unique(f.fields["id"])) != f.count:
            yield "an id occurs twice in frame %d" % f.frame
            return


def emitted_mass(run):
    """Mass of one emitted particle: spacing^d φ_max fill ρ; None when there are several sorts."""
    sorts = set()
    if capability(run.method, "grains"):
        return None
    for e in run.scene.get("emitters", []):
        m = run.scene["materials"][e["material"]] if "material" in e else run.materials[0]
        volume = run.h ** run.dim / e.get("per_cell", 8)
        sorts.add(volume * m["volume_fraction"] * e.get("fill", 1) * m["density"])
    return sorts.pop() if len(sorts) == 1 else None


def mass(run):
    if not run.frames:
        return
    one = emitted_mass(run)
    emitted, gone = run.column("emitted"), run.column("removed") + run.column("outside")
    steps = np.array([int(r["step"]) for r in run.stats])
    start = run.frames[0].mass.sum()
    if capability(run.method, "grains") and run.scene.get("emitters"):
        return
    for f in run.frames[1:]:
        upto = steps <= f.step
        if emitted[upto].sum() > 0 and one is None:
            return
        put_in = start + (one or 0) * emitted[upto].sum()
        if gone[upto].sum() == 0 and abs(f.mass.sum() - put_in) > 1e-9 * put_in:
            yield "frame %d holds %.9g kg, %.9g were put in" % (f.frame, f.mass.sum(), put_in)
            return
        if f.mass.sum() > put_in * (1 + 1e-9):
            yield "frame %d holds %.9g kg, more than the %.9g put in" % (f.frame, f.mass.sum(), put_in)
            return


def told_numbers(run):
    """stats.csv agrees with the frames it belongs to."""
    rows = {int(r["step"]): r for r in run.stats}
    for f in run.frames[1:]:
        r = rows.get(f.step)
        if r is None:
            yield "stats.csv has no row for step %d of frame %d" % (f.step, f.frame)
            return
        kinetic = 0.5 * (f.mass * (f.velocity ** 2).sum(axis=1)).sum()
        potential = -(f.mass * ((f.x - geometry.three(run.lower)) @ run.gravity)).sum()
        for name, value in (("kinetic_energy", kinetic), ("potential_energy", potential), ("particles", f.count)):
            if abs(float(r[name]) - value) > 1e-6 * (abs(value) + abs(potential) * 1e-3) + 1e-12:
                yield "%s of step %d is %s in stats.csv and %.9g in frame %d" % (name, f.step, r[name], value, f.frame)
                return


def by_step(run):
    out = {}
    for r in run.body_rows:
        out.setdefault(int(r["step"]), []).append(r)
    return out


def three_of(row, names):
    return np.array([float(row[n]) for n in names.split()])


def momentum(run):
    """From frame to frame: Δ Σ m v = ∫ (M g - forces on walls and bodies) dt + momentum of what was emitted."""
    if not run.frames or capability(run.method, "fluid"):
        return
    one, rows = emitted_mass(run), by_step(run)
    v_emit = [geometry.three(e.get("velocity", [0, 0, 0])) for e in run.scene.get("emitters", [])]
    at = {int(r["step"]): r for r in run.stats}
    worst, where = 0, None
    for a, b in zip(run.frames, run.frames[1:]):
        held, impulse, scale = a.mass.sum(), np.zeros(3), 0.0
        usable = True
        for s in range(a.step + 1, b.step + 1):
            r = at.get(s)
            if r is None or float(r["removed"]) or float(r["outside"]):
                usable = False
                break
            dt, emitted = float(r["dt"]), float(r["emitted"])
            if emitted and (one is None or len(v_emit) != 1):
                usable = False
                break
            impulse += dt * held * run.gravity
            scale += dt * held * np.linalg.norm(run.gravity)
            for row in rows.get(s, []):
                force = three_of(row, "fx fy fz")
                impulse -= dt * force
                scale += dt * np.linalg.norm(force)
            if emitted:
                impulse += emitted * one * v_emit[0]
                scale += emitted * one * np.linalg.norm(v_emit[0])
                held += emitted * one
        if not usable or scale == 0:
            continue
        change = (b.mass[:, None] * b.velocity).sum(axis=0) - (a.mass[:, None] * a.velocity).sum(axis=0)
        scale += np.linalg.norm((a.mass[:, None] * a.velocity).sum(axis=0))
        error = np.linalg.norm((change - impulse)[:run.dim]) / scale
        if error > worst:
            worst, where = error, b.frame
    if worst > MOMENTUM:
        yield "momentum is off by %.3g of the impulses up to frame %d" % (worst, where)


def energy(run):
    """Motion and height of the grains, less the work of bodies and what emitters bring, never grows."""
    if len(run.stats) < 2 or not run.frames:
        return
    worst, scale, when = energy_from_nowhere(run)
    if worst > ENERGY * scale:
        yield "%.3g J came from nowhere by t = %.4g s: %.3g of the %.3g J that move about" % (worst, when, worst / scale, scale)
    made = np.nansum(np.maximum(0, run.column("energy_made")))   # what the method itself says that its stresses did
    scale = max(scale, moving_about(run))
    if made > ENERGY * scale:
        yield "stresses made %.3g J, %.3g of the %.3g J that move about" % (made, made / scale, scale)


def moving_about(run, work=0.0):
    """Joules that move about: heights of the grains, the most that they had of motion, and the work of bodies."""
    held = max(f.mass.sum() for f in run.frames)
    heights = [np.ptp(f.x[:, run.up]) for f in run.frames if f.count]
    return held * np.linalg.norm(run.gravity) * max(heights + [run.h]) * 0.5 + np.nanmax(run.column("kinetic_energy")) + work


def energy_from_nowhere(run):
    """(joules that came from nowhere, joules that move about, when); zero where the files do not tell.

    The work of a body on the grains is at most -(F·v + T·ω) dt with its velocity after the step: contacts only dissipate."""
    nothing = (0.0, 1.0, 0.0)
    if len(run.stats) < 2 or not run.frames or capability(run.method, "fluid"):
        return nothing
    for axis in range(run.dim):
        if run.wall(axis, 0) == "periodic" and run.gravity[axis] != 0:
            return nothing   # heights mean nothing along a periodic incline
    if any(run.wall(axis, side) == "open" and run.gravity[axis] * (1 if side == 0 else -1) < 0 and axis != run.up
           for axis in range(run.dim) for side in (0, 1)):
        return nothing
    rows, one = by_step(run), emitted_mass(run)
    if run.scene.get("emitters") and one is None:
        return nothing
    top = max([0.0] + [emitter_energy(run, e) for e in run.scene.get("emitters", [])])
    e = run.column("kinetic_energy") + run.column("potential_energy")
    f0 = run.frames[0]
    first = 0.5 * (f0.mass * (f0.velocity ** 2).sum(axis=1)).sum() - (f0.mass * ((f0.x - geometry.three(run.lower)) @ run.gravity)).sum()
    budget, gross, added, least, worst, when = first, 0.0, 0.0, first, 0.0, 0.0
    before = {b["name"]: None for b in run.scene.get("bodies", []) if b.get("kind") == "free"}
    exact = capability(run.method, "stress", True) and not capability(run.method, "elastic")
    for i, r in enumerate(run.stats):
        dt, work = float(r["dt"]), 0.0
        for row in rows.get(int(r["step"]), []):
            if "vx" not in row or not row["vx"]:
                continue
            push, motion = three_of(row, "fx fy fz tx ty tz"), three_of(row, "vx vy vz wx wy wz")
            w = -dt * push @ motion
            if row["body"] in before:   # what pushed back with less speed before may have given more
                w = max(w, -dt * push @ before[row["body"]]) if before[row["body"]] is not None else w
                before[row["body"]] = motion
            work += w
            gross += abs(w)
        added += work + float(r["emitted"] or 0) * (one or 0) * top
        now = e[i] - added
        reference = least if exact else budget
        if now - reference > worst:
            worst, when = now - reference, float(r["time"])
        least = min(least, now)
        if float(r["removed"]) or float(r["outside"]):
            if run.gravity[:run.up].any():
                break   # what left may have been below the zero of heights
    return worst, moving_about(run, gross), when


def emitter_energy(run, e):
    """Most that a kilogram brings along: its speed, and the height of the emitter's upper face."""
    v = geometry.three(e.get("velocity", [0, 0, 0]))
    box = e["shape"]["box"]
    corner = np.where(run.gravity[:run.dim] < 0, np.array(box["upper"], float), np.array(box["lower"], float))
    return 0.5 * v @ v - (corner - run.lower) @ run.gravity[:run.dim]


def speeds(run):
    """Nothing is faster than what moves it: falls through the domain, bodies, its own beginning."""
    if not run.frames or (run.body_rows and not capability(run.method, "stress", True)):
        return   # what flies between a wall and a body that comes nearer gains at every bounce
    source = 0.0
    for row in run.body_rows:
        if row.get("vx"):
            body = next((b for b in run.scene.get("bodies", []) if b.get("name") == row["body"]), None)
            arm = min(geometry.reach(body["shape"]) if body else 0, 2 * np.linalg.norm(run.upper - run.lower))
            source = max(source, np.linalg.norm(three_of(row, "vx vy vz")) + arm * np.linalg.norm(three_of(row, "wx wy wz")))
    own = np.linalg.norm(run.frames[0].velocity, axis=1).max() if run.frames[0].count else 0
    own = max([own] + [np.linalg.norm(e.get("velocity", [0])) for e in run.scene.get("emitters", [])])
    fall = math.sqrt(2 * np.linalg.norm(run.gravity) * np.linalg.norm(run.upper - run.lower))
    if any(run.wall(a, 0) == "periodic" and run.gravity[a] for a in range(run.dim)):
        fall += np.linalg.norm(run.gravity) * run.frames[-1].time
    bound = 1.2 * (fall + 2 * source + own)
    for f in run.frames:
        if f.count and np.linalg.norm(f.velocity, axis=1).max() > bound:
            yield "a grain has %.3g m/s in frame %d; nothing there gives more than %.3g" % (np.linalg.norm(f.velocity, axis=1).max(), f.frame, bound)
            return


def inside(run):
    """Nothing behind a wall or in a body."""
    for f in run.frames:
        if not f.count:
            continue
        for axis in range(run.dim):
            for side, beyond in ((0, run.lower[axis] - f.x[:, axis]), (1, f.x[:, axis] - run.upper[axis])):
                if run.wall(axis, side) != "open" and beyond.max() > 1e-9 * max(1, abs(run.upper[axis])):
                    yield "a particle is %.3g cells behind a wall (axis %d, side %d) in frame %d" % (beyond.max() / run.h, axis, side, f.frame)
                    return
        if run.dim == 2 and (f.x[:, 2] != 0).any():
            yield "a particle of a 2D run leaves its plane in frame %d" % f.frame
            return
        for body in run.scene.get("bodies", []):
            origin, matrix, present = run.body_pose(body, f)
            if not present:
                continue
            d = geometry.posed(body["shape"], origin, matrix, f.x)
            if d.min() < -BODY_DEPTH * run.h:
                yield "%d particles are in body '%s' in frame %d, %.3g cells deep at most" % (
                    (d < -BODY_DEPTH * run.h).sum(), body["name"], f.frame, -d.min() / run.h)
                return


def tents(run, points, weights):
    """Sum of weights in tents of half width two cells about the nodes of the grid."""
    n = run.cells + 1
    periodic = [run.wall(a, 0) == "periodic" for a in range(run.dim)]
    q = (points[:, :run.dim] - run.lower) / run.h
    base = np.floor(q).astype(int) - 1
    out = np.zeros(int(np.prod(n)))
    for corner in np.ndindex(*([4] * run.dim)):
        node = base + np.array(corner)
        w = weights * np.prod(np.maximum(0, 1 - np.abs(q - node) / 2), axis=1)
        good = np.ones(len(points), bool)
        flat = np.zeros(len(points), int)
        for a in range(run.dim):
            index = node[:, a]
            if periodic[a]:
                index = index % run.cells[a]
            good &= (index >= 0) & (index < n[a])
            flat = flat * n[a] + index
        out += np.bincount(flat[good], w[good], len(out))
    return out


def room(run, frame):
    """The same tents over the room there is: inside the domain, outside the bodies, by points of a lattice of a third of a cell."""
    k = 3
    axes = [run.lower[a] + (np.arange(run.cells[a] * k) + 0.5) * run.h / k for a in range(run.dim)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, run.dim)
    points = np.zeros((len(grid), 3))
    points[:, :run.dim] = grid
    free = np.ones(len(points))
    for body in run.scene.get("bodies", []):
        origin, matrix, present = run.body_pose(body, frame)
        if present:
            # a smooth edge: the share of the little cell that lies outside
            free = np.minimum(free, np.clip(0.5 + geometry.posed(body["shape"], origin, matrix, points) / (run.h / k), 0, 1))
    return tents(run, points, free * (run.h / k) ** run.dim)


def packing(run):
    """How tightly grains are packed, smoothed over two cells, in some frames: (frame, over-packed part of the volume, tightest place)."""
    filled = [f for f in run.frames if f.count]
    full = (2 * run.h) ** run.dim
    for f in filled[:: max(1, len(filled) // 5)] + filled[-1:]:
        bulk, space = tents(run, f.x, run.bulk(f)), room(run, f)
        wide = space > 0.4 * full
        over = np.maximum(0, bulk - space)[space > 0.1 * full].sum() / bulk.sum()
        yield f.frame, over, (bulk[wide] / space[wide]).max() if wide.any() else 0


def volume(run):
    """The volume that grains occupy is what was put in, and nowhere are they packed more tightly than possible. Both beyond what
    the sampling of the first frame has: particles that are whole beside a body begin a little tight."""
    if not capability(run.method, "stress", True) or capability(run.method, "grains"):
        return
    numbers = list(packing(run))
    if not numbers:
        return
    begin_over, begin_tight = min(numbers[0][1], VOLUME), min(max(numbers[0][2], 1), PACKING)
    if run.scene.get("emitters"):
        begin_over, begin_tight = VOLUME / 2, 1.05
    frame, over, tight = max(numbers, key=lambda n: n[1])
    if over > VOLUME + begin_over and frame > numbers[0][0]:
        yield "%.1f %% of the volume is packed more tightly than possible in frame %d" % (100 * over, frame)
    frame, over, tight = max(numbers, key=lambda n: n[2])
    if tight > PACKING * begin_tight:
        yield "a place is packed to %.2f φ_max in frame %d" % (tight, frame)


def squared_axes(frame):
    """Squares of the semi-axes of all particles."""
    xx, yy, zz, xy, yz, xz = frame.fields["ellipsoid"].T
    return np.linalg.eigvalsh(np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), 2, 0))


def bounded(run):
    """Particles in all and in a cell; ellipsoids; strains."""
    if not run.frames:
        return
    put_in = run.frames[0].count + np.nancumsum(run.column("emitted"))
    steps = {int(r["step"]): i for i, r in enumerate(run.stats)}
    largest = max([g.get("per_cell", 8) for g in run.scene.get("grains", []) + run.scene.get("emitters", [])] + [8])
    for f in run.frames[1:]:
        n = put_in[steps[f.step]] if f.step in steps else put_in[-1]
        if f.count > GROWTH * n + 64:
            yield "%d particles in frame %d, %d were put in" % (f.count, f.frame, n)
            return
        if not f.count:
            continue
        key = np.zeros(f.count, int)
        for a in range(run.dim):
            key = key * 100000 + np.floor((f.x[:, a] - run.lower[a]) / run.h).astype(int)
        most = np.unique(key, return_counts=True)[1].max()
        if capability(run.method, "stress", True) and most > max(CROWD * largest, 128):
            yield "%d particles in one cell in frame %d" % (most, f.frame)
            return
        if "ellipsoid" in f.fields and np.isfinite(f.fields["ellipsoid"]).all():
            eigen = squared_axes(f)
            if eigen.max() > (ELLIPSOID * run.h) ** 2 or eigen.min() < -1e-6 * run.h ** 2:
                yield "a particle has a semi-axis of %.3g cells in frame %d (least eigenvalue %.3g)" % (
                    math.sqrt(max(0, eigen.max())) / run.h, f.frame, eigen.min() / run.h ** 2)
                return
        if "strain" in f.fields and np.abs(f.fields["strain"]).max() > 10:
            yield "a strain of %.3g in frame %d" % (np.abs(f.fields["strain"]).max(), f.frame)
            return


def converged(run):
    """Converged, or said."""
    missed = sum(r.get("converged") == "0" for r in run.stats)
    if missed and "iteration limit" not in run.messages and "converge" not in run.messages:
        yield "%d of %d steps did not converge, and no message says so" % (missed, len(run.stats))


def at_rest(run):
    """What must be at rest is: slow at the end, and where it was."""
    if not run.scene["x-soak"].get("rest") or not capability(run.method, "stress", True) or capability(run.method, "grains") or len(run.frames) < 4:
        return
    f, g = run.frames[-1], np.linalg.norm(run.gravity)
    if f.time < 0.3 or not f.count:
        return
    rms = math.sqrt((f.mass * (f.velocity ** 2).sum(axis=1)).sum() / f.mass.sum())
    swing = 0.0
    if capability(run.method, "elastic"):
        # elastic grains that are suddenly there swing: g H / c, with c² = E / ρ and the height H of the bed
        swing = max(g * np.ptp(f.x[:, run.up]) * math.sqrt(m["density"] * m["volume_fraction"] / m["youngs_modulus"]) for m in run.materials)
    if rms > REST * math.sqrt(g * run.h) + swing:
        yield "not at rest after %.3g s: %.3g m/s in the mean, %.3g of √(g h)" % (f.time, rms, rms / math.sqrt(g * run.h))
    sunk = (centre(run.frames[0]) - centre(f))[run.up] / run.h
    if abs(sunk) > SINK:
        yield "the centre of a bed at rest went %s by %.2f cells" % ("down" if sunk > 0 else "up", abs(sunk))


def centre(frame):
    return (frame.mass[:, None] * frame.x).sum(axis=0) / frame.mass.sum()


CHECKS = {f.__name__: f for f in (finished, finite, mass, told_numbers, momentum, energy, speeds, inside, volume, bounded, converged, at_rest)}


def check(run, only=None):
    """[(check, sentence)] of all that does not hold."""
    out = []
    for name, function in CHECKS.items():
        if only and name not in only:
            continue
        out += [(name, sentence) for sentence in function(run)]
        if name == "finite" and out:
            break   # the rest would only repeat it
    return out
