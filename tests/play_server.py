"""`repose play` without a browser: pace, tools, back in time, a page that does not read, a record that replays to the byte, and a server that is killed."""
import csv
import json
import os
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "browser"))
from chromium import Server  # noqa: E402
from socket_client import WebSocket  # noqa: E402

REPOSE = os.environ["REPOSE"]
SCENE = """
title: Box to play with
method: %s
domain: [0.5, 0.4, 0.4]
cell_size: 5 cm
duration: 0.5 s
frame_rate: 30
material: dry-sand
walls: {all: slip, bottom: 0.6, top: open}
grains:
  - {shape: {box: {lower: [0, 0, 0], upper: [0.5, 0.4, 0.1]}}, per_cell: 4}
bodies:
  - {name: plough, shape: {box: {size: [0.06, 0.2, 0.12]}}, position: [0.1, 0.2, 0.17], surface: 0.4}
controls:
  - {name: along, body: plough, kind: slide, axis: [1, 0, 0], rate: 0.5, least: 0, most: 0.3, more: d, less: a, gamepad: 0}
  - {name: turn, parent: along, body: plough, kind: turn, axis: [0, 0, 1], point: [0.1, 0.2, 0.17], rate: 1, more: e, less: q}
"""


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


class Page:
    """A client that reads all, acknowledges frames, and remembers the last of each kind of message."""

    def __init__(self, url):
        self.socket = WebSocket(url)
        self.last, self.frames = {}, 0

    def pump(self, seconds=None, until=None, limit=60):
        end, hard = time.monotonic() + (seconds or 0), time.monotonic() + limit
        while True:
            opcode, data = self.socket.receive()
            if opcode == 8:
                raise ConnectionError("closed")
            if opcode == 2:
                self.frame = data
                self.frames += 1
                self.send("ack", frame=0)
            elif opcode == 1:
                message = json.loads(data)
                self.last[message["type"]] = message
            if until and until(self):
                return
            if not until and time.monotonic() > end:
                return
            if time.monotonic() > hard:
                raise RuntimeError(f"what was waited for never came; last state: {self.last.get('state')}, error: {self.last.get('error')}")

    def send(self, kind, **members):
        self.socket.send(json.dumps({"type": kind, **members}))

    @property
    def state(self):
        return self.last.get("state", {"step": 0, "time": 0, "frame": 0, "paused": True})


def play(method, speed="2"):
    name = f"play_{method}"
    shutil.rmtree(name, ignore_errors=True)
    with open(f"{name}.yaml", "w", encoding="utf-8") as file:
        file.write(SCENE % method)
    server = Server(REPOSE, "play", f"{name}.yaml", "--record", name, "--threads", "1", "--paused", "--speed", speed)
    try:
        page = Page(server.url)
        page.pump(until=lambda p: "scene" in p.last and p.frames > 0)
        scene = page.last["scene"]
        check([c["name"] for c in scene["controls"]] == ["along", "turn"], f"controls: {scene['controls']}")
        page.pump(until=lambda p: "state" in p.last and p.state["paused"])
        check(page.state["step"] == 0, "it did not wait")
        for k in range(3):
            page.send("step")
        page.pump(until=lambda p: p.state["step"] == 3)
        page.send("control", index=0, value=1)
        page.send("control", index=1, value=-1)
        page.send("resume")
        page.pump(until=lambda p: p.state["frame"] >= 4)
        page.send("control", index=0, value=0)
        page.send("control", index=1, value=0)
        page.send("tool", field="hand", down=True, position=[0.35, 0.2, 0.12], across=[1, 0, 0], size=1, value=0)
        frame = page.state["frame"]
        page.pump(until=lambda p: p.state["frame"] >= frame + 4)
        page.send("tool", field="hand", down=True, position=[0.3, 0.15, 0.08], across=[1, 0, 0], size=1, value=0)
        page.send("gravity", position=[1.5, 0, -9])
        page.pump(until=lambda p: p.state["frame"] >= frame + 8)
        check("body" in page.last and page.last["body"]["name"] == "tool-hand", "no body of the hand")
        page.send("tool", field="hand", down=False, position=[0.3, 0.15, 0.08])
        grains = page.state["row"]["particles"]
        page.send("tool", field="spout", down=True, position=[0.25, 0.2, 0.3], across=[1, 0, 0], size=1, value=0)
        page.pump(until=lambda p: p.state["row"]["particles"] > grains + 5)
        for tool in ("rake", "scoop"):
            frame = page.state["frame"]
            page.send("tool", field=tool, down=True, position=[0.2, 0.2, 0.1], across=[0.6, 0.8, 0], size=0.8, value=0.3)
            page.pump(until=lambda p: p.state["frame"] >= frame + 3)
        page.send("tool", field="none", down=False)
        page.send("pause")
        page.pump(until=lambda p: p.state["paused"])
        late = page.state
        page.send("seek", frame=late["frame"] // 2)
        page.pump(until=lambda p: p.state["time"] < late["time"])
        back = page.state
        check(back["paused"] and back["frame"] <= late["frame"] // 2, f"back in time: {back}")
        page.send("resume")
        page.pump(until=lambda p: p.state["frame"] >= back["frame"] + 2)
        page.send("control", index=0, value=-1)
        page.send("tool", field="hand", down=True, position=[0.4, 0.25, 0.1], across=[1, 0, 0], size=0.7, value=0)
        frame = page.state["frame"]
        page.pump(until=lambda p: p.state["frame"] >= frame + 4)
        page.send("color", field="velocity", min=0, max=0)
        page.pump(until=lambda p: "range" in p.last)
        page.send("color", field="no-such-field", min=0, max=0)
        page.pump(until=lambda p: "error" in p.last)
        page.socket.close()
    finally:
        code = server.stop()
    check(code == 0, f"play ended with {code}")
    return name


def replay(name, expected):
    """What was recorded, computed again by `run`: the same bytes."""
    with open(f"{name}/actions.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    kinds = {line["kind"] for line in lines}
    check(expected <= kinds, f"{name}: kinds of lines in the journal: {kinds}")
    last = f"{name}/last.vtkhdf"
    text = subprocess.run([REPOSE, "info", last, "--json"], check=True, capture_output=True, text=True).stdout
    until = json.loads(text)["time"]
    subprocess.run([REPOSE, "run", f"{name}/scene.yaml", "--actions", name, "--until", repr(until), "-o", f"{name}_again", "--overwrite", "--quiet",
                    "--threads", "2"], check=True)
    again = f"{name}_again/last.vtkhdf"
    if not os.path.exists(again):
        again = f"{name}_again/frames/" + sorted(os.listdir(f"{name}_again/frames"))[-1]
    with open(last, "rb") as a, open(again, "rb") as b:
        check(a.read() == b.read(), f"{name}: the replay differs from what was played ({again})")
    return len(lines), until


def killed(method):
    """`kill -9` in the middle: what was done up to the last frame is on disk, and computes to what the page was told."""
    name = f"killed_{method}"
    shutil.rmtree(name, ignore_errors=True)
    with open(f"{name}.yaml", "w", encoding="utf-8") as file:
        file.write(SCENE % method)
    server = Server(REPOSE, "play", f"{name}.yaml", "--record", name, "--threads", "1", "--speed", "0.3")
    rows = {}
    try:
        page = Page(server.url)

        def reached(frame):
            if page.state["frame"] > 3: # after going back the row is of the step before
                rows[page.state["step"]] = page.state.get("row")
            return page.state["frame"] >= frame
        page.pump(until=lambda p: reached(2))
        page.send("control", index=0, value=1)
        page.send("tool", field="hand", down=True, position=[0.35, 0.2, 0.12], across=[1, 0, 0], size=1, value=0)
        page.pump(until=lambda p: reached(6))
        page.send("seek", frame=3)
        page.pump(until=lambda p: p.state["frame"] == 3)
        rows.clear()
        page.send("resume")
        page.send("tool", field="hand", down=True, position=[0.25, 0.2, 0.1], across=[1, 0, 0], size=1, value=0)
        page.pump(until=lambda p: reached(9))
        last = page.state["frame"]
    finally:
        server.kill()
    with open(f"{name}/actions.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    check({"body_add", "body_target"} <= {line["kind"] for line in lines}, f"{name}: the journal has {lines}")
    subprocess.run([REPOSE, "run", f"{name}/scene.yaml", "--actions", name, "--until", repr(last / 30), "-o", f"{name}_again", "--overwrite", "--quiet",
                    "--threads", "1"], check=True)
    with open(f"{name}_again/stats.csv", encoding="utf-8") as file:
        computed = {int(row["step"]): row for row in csv.DictReader(file)}
    same = [step for step in rows if step in computed and rows[step]]
    check(same, f"{name}: no step of the page was computed again: {sorted(rows)}, {sorted(computed)}")
    for step in same:
        for field in ("time", "kinetic_energy", "potential_energy"):
            told, found = rows[step][field], float(computed[step][field])
            check(abs(told - found) <= 1e-5 * abs(found), f"{name}: step {step}, {field}: {told} was shown, {found} computed")
    return len(lines), len(same)


# Every method has its own idea of a particle; tools must not care.
EVERYWHERE = """
title: Tools
method: %(method)s
dimension: %(dim)d
domain: %(domain)s
cell_size: 5 cm
duration: 0.5 s
frame_rate: 30
material: {preset: dry-sand, grain_diameter: 1 mm}
walls: {all: slip, bottom: 0.6, top: %(top)s}
%(more)s
grains:
  - {shape: {box: {lower: %(lower)s, upper: %(upper)s}}%(sampling)s}
"""
METHODS = {"ballistic": "", "nonsmooth": "", "elastoplastic": "", "pbd": "pbd: {radius: 1.5 cm}", "contact": "contact: {diameter: 3 cm}",
           "diphasic": "fluid: {density: 1000, viscosity: 1 mPa s}"}


def body_place(frame, which):
    """Position of a body of a frame as it comes over the socket."""
    bodies = struct.unpack_from("<I", frame, 52)[0]
    return struct.unpack_from("<3f", frame, 96 + 32 * which + 4) if which < bodies else None


def every_tool(method, dim):
    """Hand, rake, scoop and spout, a few steps each; then the replay."""
    name = f"tools_{method}_{dim}"
    shutil.rmtree(name, ignore_errors=True)
    box = {"dim": dim, "method": method, "more": METHODS[method], "top": "slip" if method == "diphasic" else "open",
           "domain": [0.5, 0.4, 0.4][:dim], "lower": [0] * dim, "upper": [0.5, 0.4, 0.1] if dim == 3 else [0.5, 0.1],
           "sampling": ", per_cell: 1, sampling: regular" if method == "contact" else ""}
    with open(f"{name}.yaml", "w", encoding="utf-8") as file:
        file.write(EVERYWHERE % box)
    server = Server(REPOSE, "play", f"{name}.yaml", "--record", name, "--threads", "1", "--paused")
    try:
        page = Page(server.url)
        page.pump(until=lambda p: "scene" in p.last and p.frames > 0)
        grains, step = 0, 0
        for number, tool in enumerate(("hand", "rake", "scoop", "spout")):
            places = []
            for k in range(4):
                place = [0.15 + 0.05 * k, 0.2, 0.2] if dim == 3 else [0.15 + 0.05 * k, 0.2, 0]
                page.send("tool", field=tool, down=True, position=place, across=[1, 0, 0], size=1, value=0.2)
                page.send("step")
                step += 1
                page.pump(until=lambda p: p.state["step"] >= step or "error" in p.last, limit=300)
                check("error" not in page.last, f"{name}, {tool}: {page.last.get('error')}")
                places.append(body_place(page.frame, number))
                if tool == "hand":
                    grains = page.state["row"]["particles"]
            if tool == "spout":
                check(page.state["row"]["particles"] > grains, f"{name}: the spout poured nothing")
            else:
                check(places[-1] is not None and places[-1] != places[0], f"{name}: the {tool} did not move: {places}")
            page.send("tool", field="none", down=False)
        page.socket.close()
    finally:
        code = server.stop()
    check(code == 0, f"{name}: play ended with {code}")
    replay(name, {"body_add", "body_velocity", "grains_add"})


def probe_and_arrows():
    """The probe follows a grain while a simulation goes on; arrows come from the nodes."""
    server = Server(REPOSE, "play", "tools_diphasic_2.yaml", "--threads", "1", "--paused")
    try:
        page = Page(server.url)
        page.pump(until=lambda p: "scene" in p.last and p.frames > 0)
        page.send("probe", down=True, position=[0.2, 0.05, 0])
        page.pump(until=lambda p: "probe" in p.last)
        first = page.last["probe"]
        names = {v["name"]: v for v in first["values"]}
        check({"position", "velocity", "volume"} <= set(names) and names["velocity"]["unit"] == "m/s", f"a poor probe: {sorted(names)}")
        away = sum((a - b) ** 2 for a, b in zip(names["position"]["value"], (0.2, 0.05, 0))) ** 0.5
        check(away < 0.05, f"the probe found a grain {away} m away")
        page.send("arrows", field="fluid_velocity")
        for k in range(5):
            page.send("step")
        # states may come before the frame of their step: a frame with arrows must come in the end
        page.pump(until=lambda p: p.state["step"] >= 5 and "probed" in p.last and struct.unpack_from("<I", p.frame, 4)[0] & 32)
        page.send("resume")
        page.pump(until=lambda p: p.last["probe"]["id"] == first["id"] and len(p.last["probe"]["path"]) > 3)
        page.send("probe", down=False)
        page.send("pause")
        page.pump(until=lambda p: p.state["paused"])
        page.socket.close()
    finally:
        check(server.stop() == 0, "play failed")


def other_methods(name):
    """What was played with one method, computed with others and finer: the bodies are at each frame where they were, and sand is moved."""
    def places(folder):
        with open(f"{folder}/bodies.csv", encoding="utf-8") as file:
            head = file.readline().strip().split(",")
            rows = [dict(zip(head, line.strip().split(","))) for line in file]
        return {row["time"]: [row[k] for k in head[4:11]] for row in rows if row["body"] == "plough"}

    with open(f"{name}/actions.jsonl", encoding="utf-8") as file:
        marks = sorted({json.loads(line)["time"] for line in file})
    until = repr(json.loads(subprocess.run([REPOSE, "info", f"{name}/last.vtkhdf", "--json"], check=True, capture_output=True, text=True).stdout)["time"])
    played = places(f"{name}_again")
    ways = [("finer", ["--set", "cell_size=4cm"]), ("nonsmooth", ["--set", "method=nonsmooth"]), ("elastoplastic", ["--set", "method=elastoplastic"])]
    for kind, more in ways[:1] if os.environ.get("SANITIZE") else ways:   # six seconds of the others take a quarter of an hour there
        folder = f"{name}_{kind}"
        subprocess.run([REPOSE, "run", f"{name}/scene.yaml", "--actions", name, "--until", until, "-o", folder, "--overwrite", "--quiet", "--threads", "2", *more],
                       check=True)
        here = places(folder)
        both = sorted(set(here) & set(played), key=float)
        check(len(both) > 10, f"{folder}: only {len(both)} times in common of {len(marks)} in the journal")
        for t in both:
            far = max(abs(float(a) - float(b)) for a, b in zip(here[t], played[t]))
            check(far < 1e-9, f"{folder}: at {t} s the plough is at {here[t]}, not at {played[t]}")
        check(len({tuple(v) for v in here.values()}) > 5, f"{folder}: the plough did not move")
        print(f"{folder}: the plough is where it was at {len(both)} times")


# A step that nobody would wait for: a tolerance that no solver reaches, and leave to try for hours.
ENDLESS = """
title: Slow
method: nonsmooth
nonsmooth: {tolerance: 1e-14, max_iterations: 1000000000}
domain: [0.6, 0.4, 0.4]
cell_size: 2 cm
duration: 1 s
frame_rate: 10
material: dry-sand
walls: {all: slip, bottom: 0.6, top: open}
grains:
  - {shape: {cylinder: {from: [0.3, 0.2, 0], to: [0.3, 0.2, 0.3], radius: 0.12}}, per_cell: 8}
"""


def long_steps():
    """A step under way is told of, and given up when somebody waits: to pause, to begin again, to end the program."""
    with open("endless.yaml", "w", encoding="utf-8") as file:
        file.write(ENDLESS)
    server = Server(REPOSE, "play", "endless.yaml", "--threads", "1", "--record", "endless")
    try:
        page = Page(server.url)
        page.pump(until=lambda p: "busy" in p.last)
        step = page.state["step"]
        page.last.clear()
        page.send("pause")
        page.pump(until=lambda p: "state" in p.last and p.state["paused"])
        check(page.state["step"] == step, "the step was not given up")
        page.send("resume")
        page.pump(until=lambda p: "busy" in p.last and p.last["busy"]["seconds"] > 1)
        page.socket.close()
    finally:
        code = server.stop()
    check(code == 0, f"play ended with {code}")


def slow_page():
    """Two pages that never read, one of them without room to buffer: the simulation and the others go on."""
    server = Server(REPOSE, "play", "play_ballistic.yaml", "--threads", "1", "--speed", "1")
    try:
        stuck = [WebSocket(server.url, receive_buffer=2048), WebSocket(server.url)]
        for s in stuck:
            s.send(json.dumps({"type": "hello"}))
        page = Page(server.url)
        page.pump(until=lambda p: p.state["frame"] >= 5)
        frames, first = page.frames, page.state
        page.pump(until=lambda p: p.state["frame"] >= first["frame"] + 30)
        check(page.frames > frames + 5, "the other page starves")
        for s in stuck:
            s.close()
        page.pump(until=lambda p: p.state["frame"] >= first["frame"] + 35)
        page.socket.close()
    finally:
        code = server.stop()
    check(code == 0, f"play ended with {code}")


def main():
    for words, arguments in (("no scene", ["nothing-such"]), ("not negative", ["sandbox", "--speed", "-1"])):
        done = subprocess.run([REPOSE, "play", *arguments, "--no-browser"], capture_output=True, text=True, timeout=60)
        check(done.returncode in (2, 3) and words in done.stderr, f"{arguments}: {done.returncode} {done.stderr}")
    for method in ("ballistic", "nonsmooth"):
        lines, seconds = replay(play(method), {"body_add", "body_target", "body_velocity", "body_pose"})
        print(f"{method}: {lines} lines of journal, {seconds:.3f} s, the replay has the same bytes")
    lines, seconds = replay(play("pbd"), {"body_add", "body_target", "body_velocity"})
    print(f"pbd: {lines} lines of journal, {seconds:.3f} s, the replay has the same bytes")
    for method in ("ballistic", "elastoplastic"):
        print("killed, %s: %d lines of journal were there, %d steps of the page computed again" % (method, *killed(method)))
    other_methods("play_pbd")
    long_steps()
    for method in METHODS:
        for dim in (2, 3):
            every_tool(method, dim)
    print(f"every tool works and replays in {', '.join(METHODS)}, in 2D and 3D")
    probe_and_arrows()
    slow_page()
    print("pages that do not read slow nobody")
    return 0


if __name__ == "__main__":
    sys.exit(main())
