"""Running scenes: whole, with other threads, killed and resumed, mirrored and shifted."""
import glob
import os
import random
import shutil
import signal
import subprocess
import time

import numpy as np
import yaml

from . import check, geometry
from .generate import capability

REFUSED = 3   # exit code: the method says that it cannot do the scene


def write_scene(scene, path):
    with open(path, "w") as f:
        yaml.safe_dump(scene, f, sort_keys=False, default_flow_style=None, width=140)


def command(repose, scene_path, folder, threads, extra=()):
    return [repose, "run", scene_path, "-o", folder, "--overwrite", "--threads", str(threads), *extra]


def launch(repose, scene_path, folder, threads=1, timeout=300, extra=()):
    """(exit code, messages) of a run of a file."""
    try:
        done = subprocess.run(command(repose, scene_path, folder, threads, extra), capture_output=True, text=True, timeout=timeout)
        return done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        return 124, "no end within %d s" % timeout


def run(repose, scene, folder, threads=1, timeout=300, extra=()):
    """Runs the scene in a folder that is made anew; a check.Run."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = os.path.join(folder, "soak.yaml")
    write_scene(scene, path)
    return check.Run(folder + "/run", scene, *launch(repose, path, folder + "/run", threads, timeout, extra))


def same_bytes(one, other):
    """What differs between two folders of results that must be the same to the byte (times ms_… apart)."""
    for name in sorted(set(os.listdir(one + "/frames")) | set(os.listdir(other + "/frames"))):
        a, b = one + "/frames/" + name, other + "/frames/" + name
        if not os.path.exists(a) or not os.path.exists(b) or open(a, "rb").read() != open(b, "rb").read():
            return "frames/" + name
    for name in ("stats.csv", "bodies.csv"):
        a, b = check.table(one + "/" + name), check.table(other + "/" + name)
        for rows in (a, b):
            for r in rows:
                for k in [k for k in r if k.startswith("ms_")]:
                    del r[k]
        if a != b:
            return name
    return None


def other_threads(repose, scene, first, scratch, timeout):
    second = run(repose, scene, scratch + "/threads", threads=3, timeout=timeout)
    if second.code != first.code:
        return [("threads", "three threads end with exit code %d, one with %d" % (second.code, first.code))]
    differs = same_bytes(first.folder, second.folder)
    return [("threads", "%s differs between one and three threads" % differs)] if differs else []


def killed(repose, scene, first, scratch, timeout):
    """Kill -9 after some frames, resume, compare with the run that was left alone."""
    scene = dict(scene, output={"checkpoint_every": 0})
    frames = len(first.frames)
    if frames < 3:
        return []
    at = random.Random(str(scene["x-soak"]["seed"])).randint(1, frames - 2)
    folder = scratch + "/killed"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    write_scene(scene, folder + "/soak.yaml")
    process = subprocess.Popen(command(repose, folder + "/soak.yaml", folder + "/run", 1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + timeout
    while process.poll() is None and time.monotonic() < end and not os.path.exists(folder + "/run/frames/frame_%06d.vtkhdf" % at):
        time.sleep(0.002)
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
    done = subprocess.run([repose, "resume", folder + "/run", "--threads", "1"], capture_output=True, text=True, timeout=timeout)
    if done.returncode != first.code:
        return [("resume", "resume after a kill at frame %d ends with exit code %d: %s" % (at, done.returncode, done.stderr.strip()[-200:]))]
    differs = same_bytes(first.folder, folder + "/run")
    return [("resume", "%s differs after a kill at frame %d and resume" % (differs, at))] if differs else []


# ---- twins ----

def expression(lua, sign, shift):
    """The motion of the twin: the same Lua, its results mirrored and shifted."""
    return ("local function own() return %s end local x, y, z, a, b, c = own() "
            "return %d * x + %.9g, y + %.9g, z + %.9g, a, %d * b, %d * c" % (lua, sign, shift[0], shift[1], shift[2], sign, sign))


def twin(scene, sign, shift):
    """The scene mirrored across x (sign -1) and shifted."""
    out = yaml.safe_load(yaml.safe_dump(scene))
    dim = len(scene["domain"])
    size = np.ceil(np.array(scene["domain"]) / scene["cell_size"] - 1e-6) * scene["cell_size"]
    move = [float(s) for s in shift[:dim]] + [0.0] * (3 - dim)
    domain_move = list(move)
    if sign < 0:
        move[0] += float(size[0])

    def place(v):
        return [sign * v[0] + move[0]] + [v[i] + move[i] for i in range(1, len(v))]

    out["domain"] = {"lower": domain_move[:dim], "upper": [float(domain_move[a] + size[a]) for a in range(dim)]}
    for key in ("grains", "emitters", "sinks"):
        for item in out.get(key, []):
            item["shape"] = geometry.mirrored(item["shape"], sign, move)
            if "velocity" in item:
                item["velocity"][0] *= sign
    for body in out.get("bodies", []):
        body["shape"] = geometry.mirrored(body["shape"], sign, [0, 0, 0])
        if "motion" in body:
            body["motion"]["expression"] = expression(body["motion"]["expression"], sign, move)
        else:
            body["position"] = place(body.get("position", [0.0] * dim))
            if "rotation" in body:
                body["rotation"] = geometry.mirrored_rotation(body["rotation"], sign)
        if "velocity" in body:
            body["velocity"][0] *= sign
    if sign < 0:
        walls = out.get("walls")
        if isinstance(walls, dict) and ("left" in walls or "right" in walls):
            left, right = walls.pop("left", None), walls.pop("right", None)
            if right is not None:
                walls["left"] = right
            if left is not None:
                walls["right"] = left
        if isinstance(out.get("gravity"), dict) and out["gravity"].get("toward", "+x")[1] == "x":
            out["gravity"]["toward"] = ("-x" if out["gravity"].get("toward", "+x") == "+x" else "+x")
    return out, np.array(move)


def regular(scene):
    """Twins begin from the same particles: sampled on the lattice, in boxes of whole cells."""
    h, out = scene["cell_size"], dict(scene)
    out["grains"] = []
    for g in scene.get("grains", []):
        g = dict(g, sampling="regular")
        if "box" in g["shape"]:
            box = g["shape"]["box"]
            g["shape"] = {"box": {"lower": [round(x / h) * h for x in box["lower"]], "upper": [round(x / h) * h for x in box["upper"]]}}
        out["grains"].append(g)
    return out


TWIN = 0.25   # cells between the centres of mass of twins
TWIN_ENERGY = 0.1


def twins(repose, scene, scratch, timeout):
    """Mirrored and shifted twins agree in the mean: the rounding differs, so single grains go their own ways."""
    if scene.get("emitters") or not scene.get("grains"):
        return []   # emitters choose their sites at random
    scene = regular(scene)
    scene["duration"] = min(scene["duration"], 0.3)
    first = run(repose, scene, scratch + "/first", timeout=timeout)
    out = []
    if first.code != 0 or len(first.frames) < 2:
        return out
    h = scene["cell_size"]
    for name, sign, shift in (("shifted", 1, [8 * h, -4 * h, 16 * h]), ("mirrored", -1, [0, 0, 0])):
        other, move = twin(scene, sign, shift)
        second = run(repose, other, scratch + "/" + name, timeout=timeout)
        if second.code != 0:
            out.append(("twins", "the %s twin ends with exit code %d: %s" % (name, second.code, second.messages.strip()[-200:])))
            continue
        out += [("twins", s) for s in compare(first, second, name, sign, move)]
    return out


def compare(first, second, name, sign, move):
    g = np.linalg.norm(first.gravity)
    for a, b in zip(first.frames, second.frames):
        if not a.count or not b.count:
            return
        x = check.centre(b) - move
        x[0] *= sign
        if a.frame == 0 and (a.count != b.count or np.abs(x - check.centre(a)).max() > 1e-6 * first.h):
            if sign > 0:
                yield "the %s twin begins with %d particles, not %d, or elsewhere" % (name, b.count, a.count)
            return   # a lattice against a slanting or cut edge has no mirror image
        skip = [i for i in range(first.dim) if first.wall(i, 0) == "periodic"]
        gap = np.array([0 if i in skip else abs(x[i] - check.centre(a)[i]) for i in range(3)])
        if gap.max() > TWIN * first.h:
            yield "the centre of mass of the %s twin is %.2f cells away in frame %d" % (name, gap.max() / first.h, a.frame)
            return
        ea, eb = (0.5 * (f.mass * (f.velocity ** 2).sum(axis=1)).sum() for f in (a, b))
        scale = max(ea, eb) + a.mass.sum() * g * first.h
        if abs(ea - eb) > TWIN_ENERGY * scale:
            yield "the %s twin moves with %.3g J in frame %d, not %.3g" % (name, eb, a.frame, ea)
            return


# ---- one scene with everything that is asked of it ----

def examine(repose, scene, scratch, extras=("threads", "resume", "twins"), timeout=300):
    """(failures, notes): failures as (check, sentence); notes as numbers for the report."""
    begin = time.monotonic()
    first = run(repose, scene, scratch + "/plain", timeout=timeout)
    notes = {"seconds": 0.0, "steps": len(first.stats), "particles": first.frames[-1].count if first.frames else 0,
             "unconverged": sum(r.get("converged") == "0" for r in first.stats), "refused": ""}
    if first.code == REFUSED:
        notes["refused"] = first.messages.strip()
        return [], notes
    failures = check.check(first)
    if first.code == 0:
        if "threads" in extras:
            failures += other_threads(repose, scene, first, scratch, timeout)
        if "resume" in extras:
            failures += killed(repose, scene, first, scratch, timeout)
        if "twins" in extras:
            failures += twins(repose, scene, scratch, timeout)
    notes["seconds"] = time.monotonic() - begin
    return failures, notes


# ---- smaller scenes that fail the same way ----

def smaller(scene):
    """Scenes with a little less in them, the largest cut first."""
    for key in ("bodies", "emitters", "sinks", "grains"):
        for i in range(len(scene.get(key, []))):
            if key != "grains" or len(scene[key]) > 1 or scene.get("emitters"):
                yield "without %s %d" % (key, i), dict(scene, **{key: scene[key][:i] + scene[key][i + 1:]})
    if scene["duration"] * scene["frame_rate"] > 3:
        yield "half the duration", dict(scene, duration=scene["duration"] / 2)
    for key in ("cfl", "substeps", "gravity", scene["method"]):
        if key in scene:
            yield "without " + key, {k: v for k, v in scene.items() if k != key}
    walls = scene.get("walls")
    if isinstance(walls, dict) and walls != {"all": "slip", "top": "open"}:
        yield "plain walls", dict(scene, walls={"all": "slip", "top": "open"})
    for name, m in scene.get("materials", {}).items():
        plain = {"density": m["density"], "volume_fraction": m["volume_fraction"], "friction_angle": "30 deg"}
        if set(m) - set(plain) - {"youngs_modulus", "poisson_ratio"} or m.get("friction_angle") != "30 deg":
            if "youngs_modulus" in m:
                plain["youngs_modulus"] = m["youngs_modulus"]
            yield "a plain material " + name, dict(scene, materials=dict(scene["materials"], **{name: plain}))
    for i, g in enumerate(scene.get("grains", [])):
        if g.get("sampling") != "regular" or g.get("per_cell", 8) != 4:
            grains = list(scene["grains"])
            grains[i] = dict(g, sampling="regular", per_cell=4)
            yield "plain grains %d" % i, dict(scene, grains=grains)
    if all(s / (1.5 * scene["cell_size"]) >= 8 for s in scene["domain"]):
        yield "larger cells", dict(scene, cell_size=1.5 * scene["cell_size"])


def shrink(repose, scene, failing, scratch, extras, budget=30, timeout=120, tell=lambda text: None):
    """Cuts pieces away while one of the checks `failing` still fails."""
    progress = True
    while progress and budget > 0:
        progress = False
        for what, less in smaller(scene):
            if budget <= 0:
                break
            budget -= 1
            failures, _ = examine(repose, less, scratch + "/shrink", extras if set(failing) & {"threads", "resume", "twins"} else (), timeout)
            if {name for name, _ in failures} & set(failing):
                tell(what)
                scene, progress = less, True
                break
    return scene
