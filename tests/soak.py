"""Scenes of tests/soak/held hold all that tools/soak checks, and its checks see what is wrong when something is.

Scenes that do not hold yet are in tests/soak/failing; they are named here, and run by tools/soak."""
import glob
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tools"))
import h5py                                            # noqa: E402
import numpy as np                                     # noqa: E402
import yaml                                            # noqa: E402
from soaking import check, drive, generate, geometry   # noqa: E402

REPOSE, SCRATCH = os.environ["REPOSE"], os.environ["SCRATCH"]
FOLDER = os.path.join(os.environ["SOURCE"], "tests", "soak")
failures = []


def expect(condition, sentence):
    if not condition:
        failures.append(sentence)
        print("FAILED " + sentence)


def load(path):
    with open(path) as f:
        return yaml.safe_load(f)


def held():
    files = sorted(glob.glob(FOLDER + "/held/*.yaml"))
    expect(len(files) >= 20, "20 scenes in tests/soak/held")
    if os.environ.get("SANITIZE"):
        files = files[::4]   # ten times slower there
    for path in files:
        scene = load(path)
        found, notes = drive.examine(REPOSE, scene, SCRATCH + "/held", tuple(scene["x-soak"]["extras"]), timeout=600)
        expect(not notes["refused"], "%s is refused: %s" % (os.path.basename(path), notes["refused"]))
        for name, sentence in found:
            expect(False, "%s, %s: %s" % (os.path.basename(path), name, sentence))
        print("%5.1f s %s" % (notes["seconds"], os.path.basename(path)), flush=True)


def told():
    for path in sorted(glob.glob(FOLDER + "/failing/*.yaml")):
        story = load(path)["x-soak"]
        expect(story.get("failing"), "%s says what fails" % os.path.basename(path))
        print("does not hold yet: %s (%s)" % (os.path.basename(path), ", ".join(story["failing"])))


# ---- the checks themselves: a run that holds, then one thing in its files made wrong ----

SCENE = {"x-soak": {"seed": 0, "family": "own", "rest": True}, "domain": [0.48, 0.32], "cell_size": 0.02, "duration": 0.4, "frame_rate": 20,
         "method": "elastoplastic", "walls": {"all": "slip", "top": "open"},
         "materials": {"one": {"density": 2000, "volume_fraction": 0.6, "friction_angle": "30 deg", "youngs_modulus": 2e5}},
         "grains": [{"shape": {"box": {"lower": [0.0, 0.0], "upper": [0.48, 0.12]}}, "material": "one", "sampling": "regular", "per_cell": 4}],
         "bodies": [{"name": "ball", "shape": {"sphere": {"radius": 0.04}}, "position": [0.24, 0.2], "surface": 0.5}]}


def points(change):
    def work(folder):
        with h5py.File(sorted(glob.glob(folder + "/frames/frame_*.vtkhdf"))[-1], "r+") as f:
            change(f["VTKHDF"])
    return work


def put(group, name, index, value):
    data = group[name][()]
    data[index] = value
    group[name][...] = data


def crowd(g):
    x = g["Points"][()]
    x[:200, :2] = [0.21, 0.05] + 0.003 * np.random.default_rng(1).random((200, 2))
    g["Points"][...] = x


def change_table(name, column, change):
    def work(folder):
        rows = check.table(folder + "/" + name)
        with open(folder + "/" + name, "w") as f:
            f.write(",".join(rows[0]) + "\n")
            for r in rows:
                r[column] = change(r[column])
                f.write(",".join(r.values()) + "\n")
    return work


def scale_table(name, column, factor):
    return change_table(name, column, lambda value: repr(float(value) * factor) if value else "")


def set_table(name, column, value):
    return change_table(name, column, lambda _: value)


WRONG = {
    "finite": points(lambda g: put(g, "PointData/velocity", (3, 1), np.nan)),
    "mass": points(lambda g: put(g, "PointData/mass", 0, 1.001 * g["PointData/mass"][0] + 1e-3)),
    "told_numbers": scale_table("stats.csv", "kinetic_energy", 1.01),
    "momentum": scale_table("bodies.csv", "fy", 1.05),
    "energy": scale_table("stats.csv", "potential_energy", 1.5),
    "speeds": points(lambda g: put(g, "PointData/velocity", (5, 0), 50.0)),
    "inside": points(lambda g: put(g, "Points", (7, 0), -0.001)),
    "volume": points(crowd),
    "bounded": points(crowd),
    "converged": set_table("stats.csv", "converged", "0"),
    "at_rest": points(lambda g: g["PointData/velocity"].__setitem__(Ellipsis, g["PointData/velocity"][()] + 0.5)),
}


def checks_see():
    first = drive.run(REPOSE, SCENE, SCRATCH + "/own")
    found = check.check(first)
    expect(not found, "the scene of the test holds: %s" % found)
    for name, spoil in WRONG.items():
        folder = SCRATCH + "/wrong"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(SCRATCH + "/own/run", folder)
        spoil(folder)
        names = {n for n, _ in check.check(check.Run(folder, SCENE, 0, first.messages))}
        expect(name in names, "%s is seen (found: %s)" % (name, sorted(names)))
    shutil.rmtree(SCRATCH + "/wrong")
    shutil.copytree(SCRATCH + "/own/run", SCRATCH + "/wrong")
    points(lambda g: put(g, "Points", (7, 0), 0.2))(SCRATCH + "/wrong")
    expect(drive.same_bytes(SCRATCH + "/own/run", SCRATCH + "/own/run") is None, "a folder is the same as itself")
    expect(drive.same_bytes(SCRATCH + "/own/run", SCRATCH + "/wrong"), "a changed frame is another")


def shapes():
    p = np.array([[0.3, 0.1, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    sphere = {"sphere": {"centre": [1.0, 0.0, 0.0], "radius": 0.5}}
    expect(np.allclose(geometry.distance(sphere, p), [np.hypot(0.7, 0.1) - 0.5, 0.5, -0.5]), "distance of a sphere")
    box = {"box": {"size": [1.0, 0.4, 0.4]}, "rotation": [0.0, 0.0, np.pi / 2], "position": [0.0, 0.5, 0.0]}
    expect(np.allclose(geometry.distance(box, p), [0.1, -0.0, 0.8], atol=1e-12), "distance of a box that is turned")
    mirror = geometry.mirrored(sphere, -1, [3.0, 0.0, 0.0])
    expect(mirror["sphere"]["centre"][0] == 2.0, "a mirrored sphere")
    for seed in range(200):   # every scene has the pieces that the checks ask for
        scene = generate.make(seed, ["nonsmooth", "elastoplastic", "ballistic"][seed % 3])
        expect(scene["grains"] if "grains" in scene else scene["emitters"], "scene %d has grains" % seed)


shapes()
checks_see()
held()
told()
sys.exit(1 if failures else 0)
