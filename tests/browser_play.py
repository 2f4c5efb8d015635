"""`repose play` in a real browser: keys move bodies and sand, tools push, pause, step, back in time, reload, a server that dies."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "browser"))
from chromium import Browser, Server, Unavailable  # noqa: E402

REPOSE = os.environ["REPOSE"]
SCENE = """
title: Box to play with
method: nonsmooth
domain: [0.6, 0.4, 0.4]
cell_size: 5 cm
duration: 0.5 s
frame_rate: 30
material: dry-sand
walls: {all: slip, bottom: 0.6, top: open}
grains:
  - {shape: {box: {lower: [0, 0, 0], upper: [0.6, 0.4, 0.1]}}, per_cell: 8}
bodies:
  - {name: plough, shape: {box: {size: [0.06, 0.3, 0.16]}}, position: [0.1, 0.2, 0.2], surface: 0.4}
controls:
  - {name: height, body: plough, kind: slide, axis: [0, 0, 1], rate: 0.3, least: -0.12, most: 0.1, more: w, less: s}
  - {name: along, parent: height, body: plough, kind: slide, axis: [1, 0, 0], rate: 0.4, least: 0, most: 0.35, more: d, less: a, gamepad: 0}
"""


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def plough(browser):
    return browser.evaluate("repose.first.frame.bodies[0].position")


def centre(browser):
    """Mean x of the grains."""
    return browser.evaluate("(() => { const f = repose.first.frame; let s = 0; for (let i = 0; i < f.count; i++) s += grainPosition(f, i)[0]; return s / f.count; })()")


begin = time.monotonic()


def say(what):
    print(f"{time.monotonic() - begin:6.1f} s  {what}", flush=True)


def hold(browser, key, condition):
    browser.key(key, up=False)
    browser.wait(condition)
    browser.key(key, down=False)


def keyboard(browser):
    """All that can be done, without a pointer."""
    # every control by Tab, with a name; a button of a control by the space bar; keys that a control has taken, with Shift
    controls = browser.check_controls()
    check(controls > 20, f"only {controls} controls were found")
    check(browser.evaluate("document.querySelector('#panel section:not([hidden])').id") == "play-tools", "the tools do not come first")
    browser.evaluate("[...document.querySelectorAll('#controls button')].find(b => b.getAttribute('aria-label') === 'along back').focus()")
    browser.key(" ", "Space", up=False)
    browser.wait("repose.tools.values[1] === -1")
    browser.key(" ", "Space", down=False)
    browser.wait("repose.tools.values[1] === 0")
    browser.evaluate("document.activeElement.blur()")
    browser.key("T", modifiers=8)
    browser.key("t")
    browser.wait("repose.tools.tool === 'rake'")
    browser.evaluate("repose.tools.choose('look'); repose.setArrows('')")
    browser.key("A", modifiers=8) # `a` alone is the plough's
    browser.wait("repose.arrows !== ''")
    check("Shift+A" in browser.evaluate("(repose.listKeys(), document.getElementById('key-list').textContent)"), "the list does not say that A needs Shift")
    browser.evaluate("repose.setArrows('')")


def main():
    with open("scene.yaml", "w", encoding="utf-8") as file:
        file.write(SCENE)
    try:
        browser = Browser(os.getcwd(), 640, 440)
    except Unavailable as error:
        print(f"skipped: {error}")
        return 77
    server = Server(REPOSE, "play", "scene.yaml", "--threads", "1", "--record", "record")
    try:
        browser.open(server.url)
        browser.wait("window.repose && repose.first.frame && repose.first.frame.step > 2")
        browser.evaluate("document.getElementById('look').value = 'plain', document.getElementById('look').dispatchEvent(new Event('change'))")
        check("real time" in browser.wait("document.getElementById('facts').textContent"), "no factor is shown")
        browser.evaluate("document.activeElement.blur()")
        # keys: down into the sand, then along: the body moves, and sand with it
        start, grains = plough(browser), centre(browser)
        hold(browser, "s", "repose.first.frame.bodies[0].position[2] < 0.12")
        hold(browser, "d", "repose.first.frame.bodies[0].position[0] > 0.35")
        check(plough(browser)[0] > start[0] + 0.2, "the body did not move")
        moved = centre(browser) - grains
        check(moved > 0.005, f"the sand did not move: {moved} m")
        say("pause stops")
        # pause stops the counter; a step is one step
        browser.key(" ", "Space")
        browser.wait("repose.tools.paused && !repose.playing && repose.first.frame.step === repose.tools.step && document.getElementById('play').textContent === 'play'")
        step = browser.evaluate("repose.first.frame.step")
        for k in range(1, 4): # it would have gone on by far more than this
            browser.key(".", "Period")
            browser.wait(f"repose.tools.step >= {step + k} && repose.first.frame.step >= {step + k}")
        check(browser.evaluate("[repose.tools.step, repose.first.frame.step]") == [step + 3, step + 3], "paused, it goes on")
        say("a tool by the pointer")
        # a tool by the pointer
        browser.key(" ", "Space")
        browser.wait("repose.playing")
        browser.evaluate("repose.tools.choose('hand')")
        at = browser.evaluate("(() => { const r = repose.first.canvas.getBoundingClientRect(), p = project(repose.first.camera, repose.first.aspect, [0.45, 0.2, 0.1]); return [r.left + r.width * (p.x + 1) / 2, r.top + r.height * (1 - p.y) / 2]; })()")
        browser.mouse("mousePressed", *at, buttons=1)
        browser.mouse("mouseMoved", at[0] + 8, at[1], buttons=1)
        browser.wait("repose.first.frame.bodies.length === 2 && repose.first.frame.bodies[1].position[2] > 0")
        check(browser.evaluate("repose.first.drawer.meshes[1].count") > 100, "the hand has no mesh")
        if os.environ.get("PICTURES"):
            browser.screenshot(os.path.join(os.environ["PICTURES"], "play.png"))
        browser.mouse("mouseReleased", at[0] + 8, at[1])
        browser.wait("repose.first.frame.bodies[1].position[2] < -0.5")
        say("the same tool by keys")
        # the same tool by keys
        browser.key("i", up=False)
        browser.wait("repose.tools.down && repose.first.frame.bodies[1].position[2] > 0")
        browser.key("i", down=False)
        browser.key("Escape")
        browser.wait("!repose.tools.down && repose.first.frame.bodies[1].position[2] < -0.5")
        say("gravity")
        # gravity
        browser.evaluate("(() => { const e = document.getElementById('lean-x'); e.value = 20; e.dispatchEvent(new Event('input')); })()")
        say("back in time")
        # back in time
        browser.wait("repose.first.frames.length > 5")
        late = browser.evaluate("repose.first.frame.time")
        frame = browser.evaluate("(() => { const e = document.getElementById('time'), n = repose.first.frames[1]; e.value = 1; e.dispatchEvent(new Event('input')); return n; })()")
        # states are kept more thinly as they become many: it may be the one before
        browser.wait(f"repose.tools.paused && !repose.playing && repose.first.frame.time < {late} && repose.first.frame.frame <= {frame}")
        check(len(browser.evaluate("repose.first.frame.bodies")) == 1, "the hand came along to a time before it")
        browser.key(" ", "Space")
        browser.wait(f"repose.playing && repose.first.frame.frame > {frame + 2}")
        say("the probe follows a grain")
        # the probe: a grain of the surface is followed, with all its fields and its path
        browser.evaluate("repose.tools.choose('look')")
        browser.evaluate("repose.first.probe([project(repose.first.camera, repose.first.aspect, grainPosition(repose.first.frame, 0)).x, project(repose.first.camera, repose.first.aspect, grainPosition(repose.first.frame, 0)).y])")
        browser.wait("document.getElementById('probe').textContent.startsWith('grain ')")
        text = browser.evaluate("document.getElementById('probe').textContent")
        check("velocity" in text and "m/s" in text, f"a poor probe: {text}")
        browser.wait("repose.first.probed && repose.first.probed.path.length > 2 && !repose.first.mark.hidden")
        say("a gamepad")
        # an axis of a gamepad, as the browser would tell of one
        x = plough(browser)[0]
        browser.evaluate("navigator.getGamepads = () => [null, { axes: [window.axis, 0, 0, 0] }]; window.axis = -1; repose.redraw()")
        browser.wait(f"repose.first.frame.bodies[0].position[0] < {x} - 0.03 || repose.first.frame.bodies[0].position[0] < 0.101")
        browser.evaluate("window.axis = 0.05")
        browser.wait("repose.tools.values[1] === 0") # a stick that rests is never quite at 0
        browser.evaluate("window.axis = 0.6")
        browser.wait("repose.tools.values[1] === 0.6 && repose.first.frame.bodies[0].position[0] > 0.15")
        browser.evaluate("window.axis = 0; repose.redraw()")
        browser.wait("repose.tools.values[1] === 0")
        browser.evaluate("delete navigator.getGamepads") # while there is one the page looks at it with every picture
        say("keyboard alone")
        browser.key(" ", "Space") # paused, so that nothing else is drawn meanwhile
        browser.wait("repose.tools.paused && !repose.playing")
        keyboard(browser)
        browser.key(" ", "Space")
        browser.wait("repose.playing && !repose.tools.paused")
        say("a page that does not answer")
        # a page that hangs: the simulation goes on, and the page then sees where it is
        step = browser.evaluate("repose.tools.step")
        for _ in range(60): # as long as it takes until the simulation, asked afterwards, has gone on by itself
            browser.evaluate("(() => { const end = performance.now() + 1000; while (performance.now() < end); })()")
            if browser.evaluate("repose.tools.step") > step + 5:
                break
        browser.wait(f"repose.first.frame.step > {step + 5}")
        say("colours")
        # colours
        browser.evaluate("repose.setField('velocity')")
        browser.wait("repose.first.frame.flags & 2 && repose.range && repose.range[1] > repose.range[0]")
        say("a reload keeps")
        # a reload keeps the session, and finds the simulation where it is
        frame = browser.evaluate("repose.first.frame.frame")
        browser.call("Page.reload")
        browser.wait(f"window.repose && repose.first.frame && repose.first.frame.frame > {frame}")
        wrong = browser.console_errors()
        check(not wrong, f"errors on the console: {wrong}")
        origin = server.origin
        foreign = [u for u in browser.requests() if not u.startswith((origin, origin.replace("http", "ws"), "about:"))]
        check(not foreign, f"requests to other places: {foreign}")
    finally:
        code = server.stop()
    try:
        check(code == 0, f"play ended with {code}")
        browser.wait("document.getElementById('status').textContent.includes('the server is gone')")
    finally:
        browser.close()
    say("what was played")
    # what was played, computed again
    until = json.loads(subprocess.run([REPOSE, "info", "record/last.vtkhdf", "--json"], check=True, capture_output=True, text=True).stdout)["time"]
    subprocess.run([REPOSE, "run", "record/scene.yaml", "--actions", "record", "--until", repr(until), "-o", "again", "--overwrite", "--quiet",
                    "--threads", "1"], check=True, stderr=subprocess.DEVNULL)
    again = "again/last.vtkhdf" if os.path.exists("again/last.vtkhdf") else "again/frames/" + sorted(os.listdir("again/frames"))[-1]
    with open("record/last.vtkhdf", "rb") as a, open(again, "rb") as b:
        check(a.read() == b.read(), "the replay differs from what was played")
    print(f"the plough moved the grains by {1e3 * moved:.1f} mm on the whole; {until:.2f} s replayed to the byte")
    return 0


if __name__ == "__main__":
    sys.exit(main())
