"""Random valid scenes. A seed gives the same scene under every method, but for what only some of them can do."""
import math
import random

# What a method can do beyond, or short of, the common scene. A method that is not named here is asked for everything that holds
# for all: it joins the soak by being in the table of methods.
CAPABILITIES = {
    "nonsmooth": {"anisotropic": True, "cohesive": True},
    "elastoplastic": {"elastic": True, "short_steps": True, "cohesive": True},
    "ballistic": {"stress": False},
    "pbd": {"grains": True, "periodic": False},   # single grains: their size and packing are their own, not the material's
    "contact": {"grains": True},
    "diphasic": {"fluid": True},    # what the fluid takes is not in the files: neither momentum nor energy of the grains is kept
}


def capability(method, name, default=None):
    return CAPABILITIES.get(method, {}).get(name, default)


def number(x):
    return float("%.6g" % x)


def vector(v):
    return [number(x) for x in v]


class Maker:
    """One scene in the making: domain of `cells`, the bed of grains, and what is put in."""

    def __init__(self, seed, method, dim=None, family=None, brief=False):
        self.random = random.Random("soak %d" % seed)
        r = self.random
        self.method, self.seed, self.brief = method, seed, brief
        self.dim = dim or r.choice([2, 2, 3])
        self.family = family or r.choice(sorted(FAMILIES))
        self.h = r.choice([0.01, 0.02, 0.025, 0.04])
        # along x and y by fours, which periodic axes need
        if self.dim == 2:
            self.cells = [4 * r.randint(5, 10), r.randint(16, 28)]
        else:
            self.cells = [4 * r.randint(3, 4), r.choice([4, 8]), r.randint(10, 14)]
        if brief:   # about half the cells a side
            self.cells = [4 * r.randint(3, 5), r.randint(12, 16)] if self.dim == 2 else [12, 4, r.randint(9, 11)]
        self.size = [n * self.h for n in self.cells]
        self.up = self.dim - 1
        self.scale = math.sqrt(9.81 * self.size[self.up])   # speed of a fall from the top
        self.duration = r.uniform(0.5, 1.5) if self.dim == 2 else r.uniform(0.3, 0.8)
        if brief:
            self.duration *= 0.6 if self.dim == 2 else 0.5
        self.lasting = False    # a family whose point is a long time
        self.scene = {}
        self.bodies, self.grains, self.emitters, self.sinks = [], [], [], []

    # ---- pieces ----

    def periodic(self):
        """A pair of walls that a family can do without: slippery where the method knows no periodic ones."""
        return "periodic" if capability(self.method, "periodic", True) else "slip"

    def walls(self, floor=None):
        r = self.random

        def one():
            k = r.random()
            if k < 0.35:
                return "slip"
            if k < 0.5:
                return "stick"
            if k < 0.6 and capability(self.method, "stress", True):
                return {"friction": number(r.uniform(0.1, 0.8)), "adhesion": number(r.uniform(1, 30))}
            return number(r.uniform(0.05, 1.0))

        def pair(axis, low, high):
            if r.random() < 0.12:
                return {axis: self.periodic()}
            return {low: one(), high: one()}

        walls = pair("x", "left", "right")
        if self.dim == 3:
            walls.update(pair("y", "front", "back"))
        walls["bottom"] = floor if floor is not None else one()
        walls["top"] = "open" if r.random() < 0.7 else one()
        return walls

    def material(self, plain=False):
        r = self.random
        m = {"density": number(r.uniform(800, 3000)), "volume_fraction": number(r.uniform(0.5, 0.7)),
             "friction_angle": "%.1f deg" % r.uniform(15, 42), "grain_diameter": number(self.h * r.uniform(0.01, 0.2)),
             "youngs_modulus": number(10 ** r.uniform(5.3, 6.3)), "poisson_ratio": number(r.uniform(0.2, 0.35))}
        kind = 1.0 if plain else r.random()
        if kind < 0.12 and capability(self.method, "cohesive"):
            m["cohesion"] = number(m["density"] * 9.81 * self.h * r.uniform(0.1, 2))
            m["cohesion_decay"] = number(r.choice([0, r.uniform(0.1, 3)]))
        elif kind < 0.22:
            friction = math.tan(math.radians(r.uniform(17, 25)))
            m.pop("friction_angle")
            m.update(friction=number(friction), friction_dynamic=number(friction * r.uniform(1.2, 1.9)),
                     inertial_number=number(r.uniform(0.1, 0.4)))
        elif kind < 0.28 and capability(self.method, "anisotropic"):
            m.update(anisotropy=number(r.uniform(0.1, 0.8)), elongation=number(r.uniform(0.5, 0.95)))
        elif kind < 0.33 and self.method == "nonsmooth":
            m["viscosity"] = number(10 ** r.uniform(-1, 1.5))
        return m

    def materials(self, plain=False):
        names = ["one"] + (["two"] if not plain and self.random.random() < 0.3 else [])
        self.scene["materials"] = {n: self.material(plain) for n in names}
        return names

    def fill(self):
        r = self.random
        out = {"per_cell": r.choice([4, 6, 8, 8, 9, 12] if self.dim == 2 else [4, 6, 8, 8]), "seed": r.randint(0, 1000)}
        out["sampling"] = r.choice(["jittered", "jittered", "regular", "poisson"])
        return out

    def bed(self, height=None, names=None):
        """Grains from wall to wall up to a part of the height; with two materials in layers."""
        r = self.random
        height = (height or r.uniform(0.25, 0.5)) * self.size[self.up]
        names = names or list(self.scene["materials"])
        for i, name in enumerate(names):
            low, high = height * i / len(names), height * (i + 1) / len(names)
            lower, upper = [0.0] * self.dim, list(self.size)
            lower[self.up], upper[self.up] = low, high
            self.grains.append({"shape": {"box": {"lower": vector(lower), "upper": vector(upper)}}, "material": name, **self.fill()})
        return height

    def body_shape(self, size):
        """A shape of about this radius about its own origin."""
        r = self.random
        kinds = ["sphere", "box", "capsule", "cross", "ring", "bowl", "hook", "comb"] + (["cylinder", "ellipsoid", "torus"] if self.dim == 3 else ["ellipse"])
        kind = r.choice(kinds)
        a, b = number(size), number(size * r.uniform(0.3, 0.8))
        deep = 4 * max(self.size) if self.dim == 2 else 2 * size * r.uniform(0.4, 1)
        if kind == "sphere":
            return {"sphere": {"radius": a}}
        if kind == "box":
            return {"box": {"size": vector([2 * a, 2 * b, deep])}}
        if kind == "capsule":
            return {"capsule": {"from": [-a, 0.0, 0.0], "to": [a, 0.0, 0.0], "radius": number(max(b * 0.5, 0.6 * self.h))}}
        if kind == "cross":
            t = number(max(0.4 * b, 0.7 * self.h))
            return {"union": [{"box": {"size": vector([2 * a, 2 * t, deep])}}, {"box": {"size": vector([2 * t, 2 * a, deep])}}]}
        if kind == "ring":
            hole = {"sphere": {"radius": number(0.6 * a)}} if self.dim == 2 else {"cylinder": {"from": [0, 0, -2 * a], "to": [0, 0, 2 * a], "radius": number(0.6 * a)}}
            return {"difference": [{"sphere": {"radius": a}}, hole]}
        if kind == "bowl":   # half a ring: concave, open to one side
            hole = {"sphere": {"radius": number(0.7 * a)}} if self.dim == 2 else {"cylinder": {"from": [0, 0, -2 * a], "to": [0, 0, 2 * a], "radius": number(0.7 * a)}}
            half = {"box": {"lower": vector([-2 * a, 0, -4 * a - deep]), "upper": vector([2 * a, 2 * a, 4 * a + deep])}}
            return {"difference": [{"sphere": {"radius": a}}, hole, half]}
        if kind in ("hook", "comb"):   # a bar with one tooth, or with three and narrow rooms between them
            t = number(max(0.2 * a, 0.6 * self.h))
            teeth = [-a + t] if kind == "hook" else [-a + t, 0.0, a - t]
            bars = [{"box": {"lower": vector([-a, -t, -deep / 2]), "upper": vector([a, t, deep / 2])}}]
            return {"union": bars + [{"box": {"lower": vector([x - t, -t, -deep / 2]), "upper": vector([x + t, a + t, deep / 2])}} for x in teeth]}
        if kind == "cylinder":
            return {"cylinder": {"from": [0.0, -a, 0.0], "to": [0.0, a, 0.0], "radius": b}}
        if kind == "torus":
            return {"torus": {"axis": vector([r.gauss(0, 1), r.gauss(0, 1), r.gauss(0, 1)]), "radius": a, "tube": number(max(0.35 * a, 0.7 * self.h))}}
        return {"ellipsoid": {"semi_axes": vector([a, b, size * r.uniform(0.3, 1)])}}

    def surface(self):
        r = self.random
        return r.choice(["slip", "stick", number(r.uniform(0.1, 1.0)), number(r.uniform(0.1, 1.0))])

    def speed(self):
        """Slow or fast: from a thousandth of a cell's fall to the fall through the domain."""
        return self.scale * 10 ** self.random.uniform(-2.3, 0.0)

    def place(self, low, high, margin):
        """A place with a margin to the sides, at a part of the height between low and high."""
        r = self.random
        p = [r.uniform(margin, s - margin) if s > 2 * margin else s / 2 for s in self.size]
        p[self.up] = self.size[self.up] * r.uniform(low, high)
        return p

    def plane_axes(self):
        """The axes of a turning motion: x and up."""
        return 0, self.up

    def spin(self, expression):
        """Rotation vector of an angle in the plane of x and up (z in 2D, y in 3D)."""
        return "0, 0, %s" % expression if self.dim == 2 else "0, %s, 0" % expression

    def scripted(self, position, terms, turn, shape, **more):
        """A body that moves by the Lua terms along each axis, added to its position."""
        place = ["%.6g + %s" % (p, t) if t else "%.6g" % p for p, t in zip(position, terms)]
        while len(place) < 3:
            place.append("0")
        body = {"name": "b%d" % len(self.bodies), "shape": shape, "surface": self.surface(),
                "motion": {"expression": ", ".join(place) + ", " + self.spin(turn or "0")}}
        body.update(more)
        self.bodies.append(body)

    def free(self, position, size, **more):
        r = self.random
        body = {"name": "b%d" % len(self.bodies), "kind": "free", "shape": self.body_shape(size), "position": vector(position),
                "density": number(10 ** r.uniform(2.3, 3.9)), "surface": self.surface()}
        if r.random() < 0.5:
            v = [r.uniform(-0.4, 0.4) * self.scale for _ in range(self.dim)]
            body["velocity"] = vector(v + [0.0] * (3 - self.dim))
        body.update(more)
        self.bodies.append(body)

    # ---- the whole ----

    def finish(self):
        s, r = self.scene, self.random
        scene = {"x-soak": {"seed": self.seed, "family": self.family},
                 "domain": vector(self.size), "cell_size": self.h, "duration": number(self.duration),
                 "frame_rate": r.choice([20, 24, 30, 50]), "method": self.method, "seed": r.randint(0, 10 ** 6)}
        if r.random() < 0.2:
            scene["cfl"] = number(r.uniform(0.3, 2))
        if r.random() < 0.1 and not capability(self.method, "short_steps"):
            scene["substeps"] = r.randint(2, 6)
        scene.update(s)
        for key, value in (("grains", self.grains), ("bodies", self.bodies), ("emitters", self.emitters), ("sinks", self.sinks)):
            if value:
                scene[key] = value
        if self.lasting:
            scene["frame_rate"] = r.choice([4, 6, 10])
        if self.method == "elastoplastic":
            scene["duration"] = number(min(self.duration, (0.8 if self.brief else 2.0) if self.lasting else 0.5))
            scene["elastoplastic"] = {"transfer": r.choice(["apic", "apic", "flip", "aflip"]), "kernel": r.choice(["quadratic", "quadratic", "cubic"])}
        if capability(self.method, "fluid"):
            scene["fluid"] = {"density": 1000, "viscosity": number(10 ** r.uniform(-3, -1))}
        if self.method == "contact":   # every grain costs: few and large ones, for a short while
            scene["duration"] = number(min(self.duration, 1.0 if self.lasting else 0.2))
            for item in self.grains + self.emitters:
                item["per_cell"] = 0.5 if self.dim == 2 else 0.3
        if self.method == "ballistic":
            scene["ballistic"] = {"restitution": number(r.uniform(0, 0.9))}
        return scene


# ---- families ----

def rest(m):
    """A flat bed that has nothing to do."""
    m.scene["walls"] = m.walls()
    m.materials()
    m.bed()
    m.scene["x-rest"] = True


def slope(m):
    """A bed whose surface is flatter than its friction angle, on a rough floor."""
    r = m.random
    m.scene["walls"] = {"all": "slip", "bottom": "stick", "top": "open"}
    m.materials(plain=True)
    angle = float(m.scene["materials"]["one"]["friction_angle"].split()[0]) * r.uniform(0.2, 0.7)
    if m.dim == 3:
        angle *= 0.8   # the inscribed cone in plane strain rests a little below its angle
    rise = min(math.tan(math.radians(angle)), 0.7 * m.size[m.up] / m.size[0])
    low = 0.12 * m.size[m.up]
    normal, point = [0.0] * m.dim, [0.0] * m.dim
    normal[0], normal[m.up], point[m.up] = -rise, 1.0, low
    box = {"box": {"lower": vector([-m.h] * m.dim), "upper": vector([s + m.h for s in m.size])}}
    m.grains.append({"shape": {"intersection": [box, {"plane": {"point": vector(point), "normal": vector(normal)}}]}, "material": "one", **m.fill()})
    m.duration = max(m.duration, 0.6)
    m.scene["x-rest"] = True


def collapse(m):
    m.scene["walls"] = m.walls()
    names = m.materials()
    r = m.random
    for i, name in enumerate(names):
        lower, upper = [0.0] * m.dim, list(m.size)
        width = r.uniform(0.2, 0.45) * m.size[0]
        lower[0] = 0.0 if i == 0 else m.size[0] - width
        upper[0] = lower[0] + width
        upper[m.up] = m.size[m.up] * r.uniform(0.4, 0.9)
        m.grains.append({"shape": {"box": {"lower": vector(lower), "upper": vector(upper)}}, "material": name, **m.fill()})
    if r.random() < 0.5:
        m.grains[0]["velocity"] = vector([r.uniform(-0.3, 0.3) * m.scale] + [0.0] * 2)


def stir(m):
    """Rods and paddles go round and to and fro in a bed."""
    r = m.random
    m.scene["walls"] = m.walls()
    m.materials()
    m.bed(r.uniform(0.35, 0.6))
    for _ in range(r.randint(1, 2)):
        size = max(r.uniform(0.06, 0.16) * min(m.size[0], m.size[m.up]), 1.5 * m.h)
        position = m.place(0.15, 0.45, size * 2)
        way = r.uniform(0.05, 0.25) * m.size[0]
        way = min(way, max(m.h, position[0] - size, 0), max(m.h, m.size[0] - size - position[0]))
        omega = m.speed() / max(way, m.h)
        terms = [""] * m.dim
        kind = r.random()
        terms[0] = "%.5g * math.sin(%.5g * t)" % (way, omega)
        if kind < 0.5:
            terms[m.up] = "%.5g * (1 - math.cos(%.5g * t))" % (0.5 * way, omega)
        turn = "%.5g * t" % (r.choice([-1, 1]) * m.speed() / size) if r.random() < 0.5 else ""
        m.scripted(position, terms, turn, m.body_shape(size))


def drum(m):
    """A drum turns, slow or fast, partly filled."""
    r = m.random
    across = min(m.size[0], m.size[m.up])
    centre = [s / 2 for s in m.size]
    inner, outer = number(0.42 * across), 3 * max(m.size)
    axis = 2 if m.dim == 2 else 1
    far = 4 * max(m.size)
    ends = [[0.0] * 3, [0.0] * 3]
    ends[0][axis], ends[1][axis] = -far, far
    hole = {"sphere": {"radius": inner}} if m.dim == 2 else {"cylinder": {"from": ends[0], "to": ends[1], "radius": inner}}
    shape = {"difference": [{"box": {"size": [outer, outer, outer]}}, hole]}
    m.scene["walls"] = {"all": "slip"}
    m.materials()
    turn = r.choice([-1, 1]) * 10 ** r.uniform(-1.5, 0.5)
    m.scripted(centre, [""] * m.dim, "%.5g * t" % turn, shape, surface=number(r.uniform(0.3, 1)))
    level, normal = list(centre), [0.0] * m.dim
    level[m.up] += inner * r.uniform(-0.5, 0.1)
    normal[m.up] = 1.0
    a, b = list(centre) + [0.0], list(centre) + [0.0]
    a, b = a[:3], b[:3]
    a[axis], b[axis] = -m.h, (m.size[1] if m.dim == 3 else 0) + m.h
    room = {"sphere": {"centre": vector(centre), "radius": number(inner)}} if m.dim == 2 else {"cylinder": {"from": vector(a), "to": vector(b), "radius": inner}}
    m.grains.append({"shape": {"intersection": [room, {"plane": {"point": vector(level), "normal": vector(normal)}}]},
                     "material": "one", **m.fill()})


def rising(m):
    """A moving frame: a floor with its side walls rises, or shakes, and carries the bed."""
    r = m.random
    m.scene["walls"] = {"all": "slip", "top": "open"}
    m.materials()
    floor = 2 * m.h
    gap = 3 * m.h
    lower, upper = [-10.0] * 3, [10.0] * 3
    lower[m.up], upper[m.up] = -m.size[m.up] * 2, 0.0
    inside_lower, inside_upper = list(lower), list(upper)
    half = m.size[0] / 2 - gap
    inside_lower[0], inside_upper[0] = -half, half
    inside_lower[m.up], inside_upper[m.up] = -floor, m.size[m.up] * 2
    upper[m.up] = 0.6 * m.size[m.up]
    shape = {"difference": [{"box": {"lower": vector(lower), "upper": vector(upper)}}, {"box": {"lower": vector(inside_lower), "upper": vector(inside_upper)}}]}
    centre = [s / 2 for s in m.size]
    centre[m.up] = floor + 2 * m.h
    terms = [""] * m.dim
    if r.random() < 0.5:
        speed = min(m.speed(), 0.25 * m.size[m.up] / m.duration)
        terms[m.up] = "%.5g * t" % speed
    else:
        f = r.uniform(1, 8)
        way = min(m.speed() / (2 * math.pi * f), 1.5 * m.h)
        terms[r.choice([0, m.up])] = "%.5g * math.sin(%.5g * t)" % (way, 2 * math.pi * f)
    m.scripted(centre, terms, "", shape)
    lower, upper = [0.0] * m.dim, list(m.size)
    lower[0], upper[0] = centre[0] - half, centre[0] + half
    lower[m.up], upper[m.up] = centre[m.up] - floor, centre[m.up] - floor + r.uniform(0.2, 0.35) * m.size[m.up]
    m.grains.append({"shape": {"box": {"lower": vector(lower), "upper": vector(upper)}}, "material": "one", **m.fill()})


def push(m):
    """A blade or a piston pushes the bed along; there is room for what it heaps up."""
    r = m.random
    m.scene["walls"] = m.walls()
    m.scene["walls"].pop("x", None)
    m.scene["walls"].update(left="slip", right="slip", top="open")
    m.materials()
    height = m.bed(r.uniform(0.2, 0.4))
    thick = r.uniform(1.0, 3.0) * m.h
    tall = m.size[m.up] * r.uniform(0.5, 0.8)
    depth = r.choice([0.0, r.uniform(0.2, 0.7) * height])
    half = [thick / 2, 10.0, 10.0]
    half[m.up] = tall / 2
    position = [s / 2 for s in m.size]
    position[0], position[m.up] = thick, tall / 2 + depth
    way = r.uniform(0.15, 0.4) * m.size[0]
    speed = min(m.speed(), way / m.duration)
    terms = [""] * m.dim
    terms[0] = "%.5g * t" % speed if r.random() < 0.7 else "%.5g * (1 - math.cos(%.5g * t))" % (way / 2, 2 * speed / way)
    m.scripted(position, terms, "", {"box": {"size": vector([2 * x for x in half])}})


def drop(m):
    """Free bodies fall on a bed or stand in it."""
    r = m.random
    m.scene["walls"] = m.walls()
    m.scene["walls"].pop("x", None), m.scene["walls"].pop("y", None)
    m.scene["walls"].setdefault("sides", "slip")
    m.materials()
    m.bed(r.uniform(0.2, 0.4))
    count = r.randint(1, 3)
    for i in range(count):
        size = max(r.uniform(0.07, 0.13) * m.size[0], 2 * m.h)
        position = m.place(0.65, 0.8, 1.5 * size)
        position[0] = m.size[0] * (i + 0.5) / count
        m.free(position, min(size, 0.3 * m.size[0] / count))


def pour(m):
    """Emitters fill, sinks and open faces take away."""
    r = m.random
    m.scene["walls"] = m.walls()
    m.materials()
    if r.random() < 0.5:
        m.bed(r.uniform(0.1, 0.3))
    width = max(3 * m.h, r.uniform(0.1, 0.3) * m.size[0])
    lower, upper = [0.0] * m.dim, list(m.size)
    x = r.uniform(m.h, m.size[0] - width - m.h)
    lower[0], upper[0] = x, x + width
    lower[m.up], upper[m.up] = 0.75 * m.size[m.up], 0.75 * m.size[m.up] + 3 * m.h
    v = [0.0] * 3
    v[m.up] = -r.uniform(0.1, 0.6) * m.scale
    v[0] = r.uniform(-0.2, 0.2) * m.scale
    area = width * (m.size[1] if m.dim == 3 else 1)
    rate = 0 if r.random() < 0.3 else number(area * abs(v[m.up]) * r.uniform(0.1, 0.7))
    m.emitters.append({"shape": {"box": {"lower": vector(lower), "upper": vector(upper)}}, "rate": rate, "velocity": vector(v),
                       "stop": number(m.duration * r.uniform(0.3, 1.0)), "per_cell": r.choice([4, 8]), "seed": r.randint(0, 100)})
    if r.random() < 0.5:
        lower, upper = [0.0] * m.dim, list(m.size)
        lower[0], upper[0] = 0.0, r.uniform(0.1, 0.4) * m.size[0]
        upper[m.up] = 2 * m.h
        m.sinks.append({"shape": {"box": {"lower": vector([c - m.h for c in lower]), "upper": vector(upper)}}, "start": number(m.duration * r.uniform(0, 0.6))})
    if r.random() < 0.4:
        size = max(0.1 * m.size[0], 2 * m.h)
        m.bodies.append({"name": "peg", "shape": m.body_shape(size), "position": vector(m.place(0.35, 0.55, 2 * size)), "surface": m.surface()})


def incline(m):
    """A layer on a tilted floor, periodic along it: at rest or flowing."""
    r = m.random
    walls = {"x": "periodic", "bottom": r.choice(["stick", number(r.uniform(0.2, 1))]), "top": "open"}
    if m.dim == 3:
        walls["y"] = r.choice([m.periodic(), "slip"])
    m.scene["walls"] = walls
    m.scene["gravity"] = {"magnitude": 9.81, "tilt": "%.1f deg" % r.uniform(2, 35), "toward": r.choice(["+x", "-x"])}
    m.materials()
    m.bed(r.uniform(0.2, 0.5))
    if r.random() < 0.3:
        size = max(0.08 * m.size[0], 1.5 * m.h)
        m.bodies.append({"name": "post", "shape": m.body_shape(size), "position": vector(m.place(0.1, 0.4, 2 * size)), "surface": m.surface()})


def hopper(m):
    """Static plates lead the grains to an opening; a sink or an open floor takes them."""
    r = m.random
    m.scene["walls"] = {"all": "slip", "top": "open", "bottom": r.choice(["open", "stick", 0.5])}
    m.materials()
    opening = max(r.uniform(0.12, 0.3) * m.size[0], 4 * m.h)
    for side in (-1, 1):
        length = m.size[0] * 0.6
        angle = side * math.radians(r.uniform(25, 60))
        half = [length / 2, 1.2 * m.h, 10.0] if m.dim == 2 else [length / 2, 10.0, 1.2 * m.h]
        position = [s / 2 for s in m.size]
        position[0] += side * (opening / 2 + math.cos(angle) * length / 2)
        position[m.up] = 0.35 * m.size[m.up] + math.sin(abs(angle)) * length / 2
        rotation = [0.0, 0.0, angle] if m.dim == 2 else [0.0, -angle, 0.0]
        m.bodies.append({"name": "plate%d" % len(m.bodies), "shape": {"box": {"size": vector([2 * x for x in half])}}, "position": vector(position),
                         "rotation": vector(rotation), "surface": m.surface()})
    lower, upper = [0.0] * m.dim, list(m.size)
    lower[m.up] = 0.6 * m.size[m.up]
    upper[m.up] = 0.95 * m.size[m.up]
    m.grains.append({"shape": {"box": {"lower": vector(lower), "upper": vector(upper)}}, "material": "one", **m.fill()})


def crowd(m):
    """A bit of everything."""
    r = m.random
    (stir if r.random() < 0.5 else collapse)(m)
    if r.random() < 0.6:
        size = max(0.08 * m.size[0], 2 * m.h)
        m.free(m.place(0.75, 0.85, 2 * size), size)
    if r.random() < 0.4:
        m.sinks.append({"shape": {"sphere": {"centre": vector(m.place(0.05, 0.2, m.h)), "radius": number(2.5 * m.h)}}, "start": number(0.3 * m.duration)})
    if r.random() < 0.4:
        size = max(0.06 * m.size[0], 1.5 * m.h)
        position = m.place(0.6, 0.7, 2 * size)
        terms = [""] * m.dim
        terms[m.up] = "-%.5g * t" % min(m.speed(), 0.4 * m.size[m.up] / m.duration)
        m.scripted(position, terms, "", m.body_shape(size), start=number(r.uniform(0, 0.2)))


# ---- slow and lasting motions: what creeps, leaks or boils does so in its own time ----

def lasting(m, least, most):
    """Seconds of a family whose motion is slow."""
    m.lasting = True
    m.duration = m.random.uniform(least, most)
    if m.brief and (m.dim == 3 or capability(m.method, "fluid")):
        m.duration *= 0.3


def box_without_lid(m, gap):
    """A tray about its own origin, with the room of the domain less `gap` at each side, and that room's half width."""
    half, wall = m.size[0] / 2 - gap, 2 * m.h
    tall = 0.6 * m.size[m.up]
    lower, upper = [-10.0] * 3, [10.0] * 3
    lower[0], upper[0], lower[m.up], upper[m.up] = -half - wall, half + wall, -wall, tall
    inner_lower, inner_upper = [-20.0] * 3, [20.0] * 3
    inner_lower[0], inner_upper[0], inner_lower[m.up], inner_upper[m.up] = -half, half, 0.0, 2 * tall
    return {"difference": [{"box": {"lower": vector(lower), "upper": vector(upper)}}, {"box": {"lower": vector(inner_lower), "upper": vector(inner_upper)}}]}, half


def tilt(m):
    """A tray rocks slowly about its middle, to less or more than the angle of repose; what falls over its rim leaves."""
    r = m.random
    lasting(m, 3, 8)
    m.scene["walls"] = {"all": "open"} if m.dim == 2 else {"all": "open", "y": r.choice(["slip", m.periodic()])}
    m.materials()
    shape, half = box_without_lid(m, 0.2 * m.size[0])
    most = math.radians(r.uniform(4, 40))
    centre = [s / 2 for s in m.size]
    centre[m.up] = 0.45 * m.size[m.up]
    m.scripted(centre, [""] * m.dim, "%.5g * math.sin(%.5g * t)" % (r.choice([-1, 1]) * most, 2 * math.pi / r.uniform(2, 12)), shape)
    lower, upper = [0.0] * m.dim, list(m.size)
    lower[0], upper[0] = centre[0] - half, centre[0] + half
    lower[m.up], upper[m.up] = centre[m.up], centre[m.up] + r.uniform(0.15, 0.35) * m.size[m.up]
    m.grains.append({"shape": {"box": {"lower": vector(lower), "upper": vector(upper)}}, "material": "one", **m.fill()})


def knead(m):
    """An odd body goes slowly round in a bed, for long."""
    r = m.random
    lasting(m, 10, 14)
    m.scene["walls"] = m.walls()
    m.materials()
    m.bed(r.uniform(0.4, 0.6))
    size = max(r.uniform(0.08, 0.16) * min(m.size[0], m.size[m.up]), 1.5 * m.h)
    position = m.place(0.25, 0.4, size * 2)
    way = max(0.0, min(0.2 * m.size[0], position[0] - size, m.size[0] - size - position[0]))
    omega = 2 * math.pi / r.uniform(2, 15)
    terms = [""] * m.dim
    terms[0] = "%.5g * math.sin(%.5g * t)" % (way, omega)
    if r.random() < 0.5:
        terms[m.up] = "%.5g * (1 - math.cos(%.5g * t))" % (0.4 * way, omega)
    m.scripted(position, terms, "%.5g * t" % (r.choice([-1, 1]) * omega * r.uniform(0, 2)) if r.random() < 0.7 else "", m.body_shape(size))


def breathe(m):
    """A wall comes slowly in and goes out again, across the whole height: passive and active pressure in turn."""
    r = m.random
    lasting(m, 3, 8)
    m.scene["walls"] = dict(m.walls(), top="open")
    m.scene["walls"].pop("x", None)
    m.scene["walls"].setdefault("left", "slip")
    m.scene["walls"].setdefault("right", "slip")
    m.materials()
    start = r.uniform(2.0, 3.0) * m.h
    way = r.uniform(0.3, 0.2 * m.size[0] / m.h) * m.h
    half = [m.size[0], 10.0, 10.0]
    half[m.up] = 10.0
    position = [s / 2 for s in m.size]
    position[0] = start - m.size[0]
    terms = [""] * m.dim
    terms[0] = "%.5g * math.sin(%.5g * t)" % (r.choice([-1.0, 1.0]) * min(way, start) if r.random() < 0.5 else way, 2 * math.pi / r.uniform(2, 20))
    m.scripted(position, terms, "", {"box": {"size": vector([2 * x for x in half])}})
    lower, upper = [0.0] * m.dim, list(m.size)
    lower[0], upper[m.up] = start, r.uniform(0.25, 0.5) * m.size[m.up]
    m.grains.append({"shape": {"box": {"lower": vector(lower), "upper": vector(upper)}}, "material": "one", **m.fill()})


def lift(m):
    """A floor that fills the domain rises at 1 mm/s to 1 m/s and carries a bed, flat or piled to a side."""
    r = m.random
    lasting(m, 1, 6)
    m.scene["walls"] = {"all": r.choice(["slip", number(r.uniform(0, 0.4))]), "top": "open"}
    m.materials()
    speed = 10 ** r.uniform(-3, 0)
    m.duration = min(m.duration, 0.4 * m.size[m.up] / speed)
    floor = r.uniform(1.5, 3.5) * m.h
    position = [s / 2 for s in m.size]
    position[m.up] = floor - m.size[m.up]
    half = [10.0] * 3
    half[m.up] = m.size[m.up]
    terms = [""] * m.dim
    terms[m.up] = "%.5g * t" % speed
    m.scripted(position, terms, "", {"box": {"size": vector([2 * x for x in half])}})
    lower, upper = [0.0] * m.dim, list(m.size)
    lower[m.up], upper[m.up] = floor, floor + r.uniform(0.15, 0.3) * m.size[m.up]
    if r.random() < 0.5:
        upper[0] = 0.5 * m.size[0]
    m.grains.append({"shape": {"box": {"lower": vector(lower), "upper": vector(upper)}}, "material": "one", **m.fill()})


def shear(m):
    """A plate lies on a layer and goes along it for ever; the domain is periodic that way."""
    r = m.random
    lasting(m, 3, 8)
    m.scene["walls"] = {"x": "periodic", "bottom": r.choice(["stick", number(r.uniform(0.3, 1))]), "top": "open"}
    if m.dim == 3:
        m.scene["walls"]["y"] = r.choice(["periodic", "slip"])
    m.materials()
    height = m.bed(r.uniform(0.25, 0.5))
    half = [10.0] * 3
    half[m.up] = 1.5 * m.h
    position = [s / 2 for s in m.size]
    position[m.up] = height + 1.5 * m.h + r.choice([0.0, r.uniform(0, 0.5) * m.h])
    terms = [""] * m.dim
    speed = m.speed() * r.choice([-1, 1])
    terms[0] = "%.5g * t" % speed if r.random() < 0.6 else "%.5g * math.sin(%.5g * t)" % (m.size[0] / 4, 4 * speed / m.size[0])
    m.scripted(position, terms, "", {"box": {"size": vector([2 * x for x in half])}})


FAMILIES = {f.__name__: f for f in (rest, slope, collapse, stir, drum, rising, push, drop, pour, incline, hopper, crowd,
                                    tilt, knead, breathe, lift, shear)}


def make(seed, method, dim=None, family=None, brief=False):
    """The scene of a seed; `brief` for one of about a second: a smaller box and a shorter time, all else alike."""
    m = Maker(seed, method, dim, family, brief)
    FAMILIES[m.family](m)
    scene = m.finish()
    if scene.pop("x-rest", False):
        scene["x-soak"]["rest"] = True
    return scene
