"""`repose view` and `repose export` in a real browser: the picture, keys, time, colours, the probe, two runs, a server that dies."""
import base64
import os
import shlex
import shutil
import subprocess
import sys
import time
import zlib

import numpy

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "browser"))
from chromium import Browser, Server, Unavailable  # noqa: E402

REPOSE = os.environ["REPOSE"]
SCENE = """
title: Red heap
method: ballistic
domain: [0.6, 0.5, 0.5]
cell_size: 2.5 cm
duration: 0.4 s
frame_rate: 25
materials:
  red: {preset: dry-sand, colour: "#d01010"}
walls: {all: slip, bottom: 0.5}
grains:
  - {shape: {cone: {from: [0.3, 0.25, 0.05], to: [0.3, 0.25, 0.35], radius_from: 0.2, radius_to: 0.02}}, per_cell: 8}
bodies:
  - {name: ball, kind: free, shape: {sphere: {radius: 5 cm}}, position: [0.1, 0.1, 0.3], density: 2000, colour: [0.1, 0.2, 0.7]}
picture: {ground: none, walls: none}
"""

ROPE = """
title: Red rope
method: contact
domain: {lower: [-0.5, -0.5, 0], upper: [0.5, 0.5, 1]}
cell_size: 10 cm
walls: open
duration: 0.12 s
frame_rate: 25
bodies:
  - {name: drum, shape: {sphere: {radius: 12 cm}}, position: [0, 0, 0.5], surface: 0.3, colour: [0.1, 0.2, 0.7]}
fibres:
  - {name: rope, radius: 4 cm, youngs_modulus: 0.2 MPa, density: 1000, friction: 0.3, segments: 24, colour: "#d01010", path: "return 0.8 * s - 0.4, 0, 0.68"}
picture: {ground: none, walls: none}
camera: {eye: [0.25, -1.3, 0.75], target: [0, 0, 0.58], field_of_view: 34 deg}
"""

WATER = """
title: Column in water
dimension: 2
domain: {cells: [24, 12]}
cell_size: 5 mm
method: diphasic
duration: 0.2 s
frame_rate: 20
walls: {sides: slip, bottom: stick, top: slip}
fluid: {density: 1000, viscosity: 1 mPa s}
material: {density: 2500, volume_fraction: 0.6, friction: 0.45, grain_diameter: 1 mm}
grains:
  - {shape: {box: {lower: [0, 0], upper: [30 mm, 40 mm]}}, per_cell: 4, sampling: regular}
output: {grid: true}
"""


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def read_png(path):
    """8-bit RGB or RGBA, not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed, width, height, channels = 8, b"", 0, 0, 3
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
            check(body[8] == 8 and body[9] in (2, 6) and body[12] == 0, "an unusual PNG")
            channels = 3 if body[9] == 2 else 4
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    raw, out = zlib.decompress(packed), numpy.zeros((height, width, channels), numpy.uint8)
    stride, before = width * channels, numpy.zeros(width * channels, numpy.int64)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], numpy.frombuffer(raw, numpy.uint8, stride, y * (stride + 1) + 1).astype(numpy.int64)
        now = numpy.zeros(stride, numpy.int64)
        if kind in (0, 2):
            now = (line + (before if kind == 2 else 0)) & 255
        else:
            for k in range(stride):
                a = now[k - channels] if k >= channels else 0
                b = before[k]
                c = before[k - channels] if k >= channels else 0
                if kind == 1:
                    p = a
                elif kind == 3:
                    p = (a + b) // 2
                else:
                    q = a + b - c
                    pa, pb, pc = abs(q - a), abs(q - b), abs(q - c)
                    p = a if pa <= pb and pa <= pc else b if pb <= pc else c
                now[k] = (line[k] + p) & 255
        out[y] = now.reshape(width, channels)
        before = now
    return out[:, :, :3].astype(int)


# Grains and ball are dark in green, the background is light: half of it is where an edge runs through a pixel.
def is_red(image):
    return (image[:, :, 1] < 127) & (image[:, :, 0] > image[:, :, 2])


def is_blue(image):
    return (image[:, :, 1] < 127) & (image[:, :, 2] > image[:, :, 0])


def canvas_pixels(browser, pane=0):
    browser.evaluate("repose.draw()")
    text = browser.evaluate(f"""(() => {{ const d = repose.panes[{pane}].drawer, gl = d.gl, w = gl.drawingBufferWidth, h = gl.drawingBufferHeight, p = new Uint8Array(4 * w * h);
        gl.bindFramebuffer(gl.FRAMEBUFFER, null); gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, p);
        let s = ''; for (let k = 0; k < p.length; k += 8190) s += String.fromCharCode(...p.subarray(k, k + 8190));
        return w + ' ' + h + ' ' + btoa(s); }})()""")
    width, height, data = text.split(" ")
    pixels = numpy.frombuffer(base64.b64decode(data), numpy.uint8).reshape(int(height), int(width), 4)
    return pixels[::-1, :, :3].astype(int)


def settled(browser, expression="true"):
    browser.wait(f"window.repose && repose.first.frame && !repose.pending && repose.first.frame.frame === repose.first.wanted && ({expression})")


def go_to(browser, frame):
    browser.evaluate(f"repose.setTime({frame} / repose.first.scene.rate, false)")
    settled(browser, f"repose.first.frame.frame === {frame}")


def silhouettes(browser, other="the ball"):
    """From the scene's own camera and from another, the page and our renderer show the same."""
    worst = 0
    for turn in ("", "repose.setCamera(repose.first, zoom(orbit(repose.first.camera, 0.7, 0.25, repose.first.scene.up), 0.8))"):
        if turn:
            browser.evaluate(turn)
        image = canvas_pixels(browser)
        command = shlex.split(browser.evaluate("repose.renderCommand()"))
        check(command[:2] == ["repose", "render"], f"no command line: {command}")
        command[0], command[command.index("-o") + 1] = REPOSE, "ours.png"
        subprocess.run(command + ["--quality", "draft", "--samples", "8", "--quiet", "--no-video"], check=True, stdout=subprocess.DEVNULL)
        ours = read_png("ours.png")
        check(ours.shape == image.shape, f"sizes: {ours.shape} and {image.shape}")
        for what, mask in (("what is red", is_red), (other, is_blue)):
            a, b = mask(ours), mask(image)
            check(a.sum() > 200, f"{what}: hardly any in our own picture ({a.sum()} pixels)")
            differ = (a ^ b).sum() / a.sum()
            worst = max(worst, differ)
            check(differ < 0.03, f"{what}: {100 * differ:.1f} % of the silhouette differ")
        for corner in (image[2, 2], image[2, -3], image[-3, 2], image[-3, -3]):
            check(numpy.abs(corner - ours[2, 2]).max() < 30, f"the background is not plain: {corner}, ours {ours[2, 2]}")
    return worst


def time_and_keys(browser):
    go_to(browser, 0)
    browser.evaluate("document.activeElement.blur()")
    browser.key(".", "Period")
    settled(browser, "repose.first.frame.frame === 1")
    browser.key("End")
    settled(browser, "repose.first.frame.frame === 10")
    browser.key(",", "Comma")
    settled(browser, "repose.first.frame.frame === 9")
    browser.key("Home")
    settled(browser, "repose.first.frame.frame === 0")
    browser.key(" ", "Space")
    browser.wait("repose.playing")
    browser.wait("!repose.playing && repose.first.frame.frame === 10")
    eye = browser.evaluate("repose.first.camera.eye")
    for key in ("ArrowLeft", "ArrowUp"):
        browser.key(key)
    check(browser.evaluate("repose.first.camera.eye") != eye, "arrows do not turn the view")
    browser.key("!", "Digit1", modifiers=8)
    browser.evaluate("repose.setCamera(repose.first, zoom(repose.first.camera, 3))")
    browser.key("1", "Digit1")
    browser.wait("repose.saved[0] && Math.abs(norm(sub(repose.first.camera.eye, repose.saved[0].eye))) < 1e-6")
    browser.key("v")
    browser.wait("norm(sub(repose.first.camera.eye, repose.first.scene.view.eye)) < 1e-6")
    browser.evaluate("document.getElementById('command').textContent = ''")
    browser.key("p")
    browser.wait("document.getElementById('command').textContent.startsWith('repose render') && document.getElementById('status').textContent.startsWith('picture saved')")
    browser.key("?", "Slash", modifiers=8)
    browser.wait("document.getElementById('keys').open")
    browser.key("Escape")
    browser.wait("!document.getElementById('keys').open")
    browser.check_controls()
    # the plot is a slider of the time
    browser.evaluate("document.getElementById('plot').focus()")
    at = browser.evaluate("repose.first.frame.frame")
    browser.key("ArrowLeft")
    settled(browser, f"repose.first.frame.frame === {at - 1}")
    check(browser.evaluate("Math.abs(document.getElementById('plot').getAttribute('aria-valuenow') - repose.time) < 1e-9"), "the plot does not tell its time")
    browser.evaluate("document.activeElement.blur()")


def colours_slice_probe(browser):
    go_to(browser, 6)
    before = canvas_pixels(browser)
    browser.evaluate("repose.setField('velocity')")
    browser.wait("repose.range && repose.first.frame.flags & 2")
    settled(browser)
    check(browser.evaluate("document.getElementById('legend-unit').textContent") == "velocity [m/s]", "no unit in the legend")
    check(numpy.abs(canvas_pixels(browser) - before).max() > 60, "the colours did not change")
    browser.evaluate("(() => { const low = document.getElementById('low'), high = document.getElementById('high'); low.value = 0; high.value = 2; high.dispatchEvent(new Event('change')); })()")
    browser.wait("repose.first.frame.high === 2")
    browser.key("C", modifiers=8)
    browser.key("c")
    browser.wait("repose.field === 'velocity'")
    browser.evaluate("repose.setField('material')")
    browser.wait("repose.first.frame.flags & 1")
    whole = is_red(canvas_pixels(browser)).sum()
    browser.key("l")
    settled(browser)
    browser.evaluate("(() => { const e = document.getElementById('slice-at'); e.value = 0.3; e.dispatchEvent(new Event('input')); })()")
    cut = is_red(canvas_pixels(browser)).sum()
    check(0 < cut < 0.8 * whole, f"the slice cut nothing: {whole} and {cut} pixels")
    browser.key("l")
    go_to(browser, 1)
    box = browser.evaluate("(() => { const r = repose.first.canvas.getBoundingClientRect(), p = project(repose.first.camera, repose.first.aspect, [0.3, 0.25, 0.1]); return [r.left + r.width * (p.x + 1) / 2, r.top + r.height * (1 - p.y) / 2]; })()")
    browser.mouse("mousePressed", *box, buttons=1)
    browser.mouse("mouseReleased", *box)
    browser.wait("document.getElementById('probe').textContent.startsWith('grain ')")
    text = browser.evaluate("document.getElementById('probe').textContent")
    check("velocity" in text and "path:" in text, f"a poor probe: {text}")
    check("kinetic_energy" in browser.evaluate("document.getElementById('plot').getAttribute('aria-label')"), "no plot")


def finish(browser, origin):
    wrong = [text for text in browser.console_errors() if "GPU stall due to ReadPixels" not in text]
    check(not wrong, f"errors on the console: {wrong}")
    foreign = [u for u in browser.requests() if not u.startswith((origin, origin.replace("http", "ws"), "blob:" + origin, "about:", "data:"))]
    check(not foreign, f"requests to other places: {foreign}")


def view(browser):
    server = Server(REPOSE, "view", "run")
    try:
        browser.open(server.url)
        settled(browser)
        check(browser.evaluate("location.search") == "", "the token stayed in the address")
        check(browser.evaluate("document.cookie") == "", "scripts can read the cookie")
        browser.evaluate("document.body.classList.add('bare')")
        go_to(browser, 3)
        worst = silhouettes(browser)
        browser.evaluate("document.body.classList.remove('bare')")
        time_and_keys(browser)
        colours_slice_probe(browser)
        browser.call("Page.reload")
        settled(browser, "repose.drawn > 0 && repose.saved[0] && repose.saved[0].eye.length === 3")
        browser.evaluate("(window.loss = repose.first.drawer.gl.getExtension('WEBGL_lose_context')).loseContext()")
        browser.wait("document.getElementById('status').textContent.includes('graphics were lost')")
        browser.evaluate("window.loss.restoreContext()")
        browser.wait("document.getElementById('status').textContent.includes('graphics are back')")
        check(is_red(canvas_pixels(browser)).sum() > 200, "nothing is drawn after the graphics were lost")
        if os.environ.get("PICTURES"):
            browser.screenshot(os.path.join(os.environ["PICTURES"], "view.png"))
        finish(browser, server.origin)
    finally:
        server.kill()
    browser.wait("document.getElementById('status').textContent.includes('the server is gone')")
    return worst


def side_by_side(browser):
    server = Server(REPOSE, "view", "run", "run")
    try:
        browser.open(server.url)
        settled(browser, "repose.panes.length === 2 && repose.panes[1].frame")
        go_to(browser, 5)
        browser.wait("repose.panes[1].frame.frame === 5")
        browser.evaluate("repose.setCamera(repose.panes[1], orbit(repose.first.camera, 0.4, 0.1, repose.first.scene.up))")
        check(browser.evaluate("norm(sub(repose.panes[0].camera.eye, repose.panes[1].camera.eye))") == 0, "the cameras are not locked")
        check(numpy.abs(canvas_pixels(browser, 0) - canvas_pixels(browser, 1)).mean() < 0.5, "the same run looks different")
        finish(browser, server.origin)
    finally:
        server.stop()


def run(name, scene):
    with open(f"{name}.yaml", "w", encoding="utf-8") as file:
        file.write(scene)
    subprocess.run([REPOSE, "run", f"{name}.yaml", "-o", name, "--overwrite", "--quiet", "--threads", "1"], check=True)


def fibres(browser):
    """A rope over a ball: the same silhouette as our renderer's, and its tension in colours."""
    run("rope", ROPE)
    server = Server(REPOSE, "view", "rope")
    try:
        browser.open(server.url)
        settled(browser)
        browser.evaluate("document.body.classList.add('bare')")
        go_to(browser, 3)
        check(browser.evaluate("[repose.first.frame.fibres.count, repose.first.frame.fibres.nodes]") == [1, 25], "not the fibre of the scene")
        worst = silhouettes(browser, "the drum")
        browser.evaluate("repose.setField('tension')")
        browser.wait("repose.range && repose.first.frame.fibres && repose.first.frame.fibres.values")
        check(browser.evaluate("document.getElementById('legend-unit').textContent") == "tension [N]", "no unit of the tension")
        settled(browser)
        before = canvas_pixels(browser)
        browser.evaluate("document.getElementById('show-fibres').click()")
        check(numpy.abs(canvas_pixels(browser) - before).max() > 60, "the fibres do not go away")
        finish(browser, server.origin)
    finally:
        server.stop()
    return worst


def arrows(browser):
    """The velocity of a fluid, also where there are no grains; keys change what the arrows show."""
    run("water", WATER)
    server = Server(REPOSE, "view", "water")
    try:
        browser.open(server.url)
        settled(browser)
        go_to(browser, 4)
        browser.wait("repose.first.frame.arrows && repose.first.note.textContent.startsWith('arrows: fluid_velocity')")
        longest, right = browser.evaluate("(() => { const f = repose.first.frame, a = f.arrows; let x = 0; for (let k = 0; k < a.count; k++) x = Math.max(x, a.positions[6 * k]); return [a.longest, f.lower[0] + f.size[0] * x / 65535]; })()")
        check(0.01 < longest < 2, f"the fluid flows at {longest} m/s")
        check(right > 0.1, f"no arrows beyond x = {right} m, where there is water alone")
        with_arrows = canvas_pixels(browser)
        browser.evaluate("document.activeElement.blur()")
        browser.key("a") # the next field; in the end none
        for _ in range(4):
            if browser.evaluate("repose.arrows") == "":
                break
            browser.key("a")
        settled(browser, "repose.arrows === '' && !repose.first.frame.arrows")
        check(numpy.abs(canvas_pixels(browser) - with_arrows).max() > 60, "the arrows made no difference")
        finish(browser, server.origin)
    finally:
        server.stop()


def following(browser):
    """Frames that are written while the page is open; who looks at the last one stays at the last one."""
    shutil.rmtree("growing", ignore_errors=True)
    shutil.copytree("run", "growing")
    names = sorted(n for n in os.listdir("growing/frames") if n.startswith("frame_"))
    for name in names[4:]:
        os.rename(f"growing/frames/{name}", f"growing/{name}")
    server = Server(REPOSE, "view", "growing")
    try:
        browser.open(server.url)
        settled(browser)
        go_to(browser, 3)
        for name in names[4:7]:
            os.rename(f"growing/{name}", f"growing/frames/{name}")
        settled(browser, "repose.first.frames.length === 7 && repose.first.frame.frame === 6")
        go_to(browser, 2)
        for name in names[7:]:
            os.rename(f"growing/{name}", f"growing/frames/{name}")
        browser.wait("repose.first.frames.length === 11")
        check(browser.evaluate("repose.first.frame.frame") == 2, "the page ran away from the frame that was looked at")
        finish(browser, server.origin)
    finally:
        server.stop()


def exported(browser):
    """A page of its own, from the disk: the same picture, and no request at all."""
    subprocess.run([REPOSE, "export", "run", "--html", "page.html", "--frames", "6"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = "file://" + os.path.abspath("page.html")
    browser.open(url)
    settled(browser)
    check(browser.evaluate("repose.first.frames") == [0, 2, 4, 6, 8, 10], "not the frames that were asked for")
    go_to(browser, 4)
    check(is_red(canvas_pixels(browser)).sum() > 200, "nothing is drawn")
    browser.evaluate("document.activeElement.blur()")
    browser.key("End")
    settled(browser, "repose.first.frame.frame === 10")
    browser.key("g")
    browser.wait("document.getElementById('probe').textContent.startsWith('at ') || document.getElementById('probe').textContent === 'no grain there'")
    foreign = [u for u in browser.requests() if not u.startswith((url, "data:"))]
    check(not foreign, f"the exported page asks for {foreign}")
    check(not browser.console_errors(), f"errors on the console: {browser.console_errors()}")
    subprocess.run([REPOSE, "export", "run", "--html", "fast.html", "--color", "velocity", "--grains", "300"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    browser.open("file://" + os.path.abspath("fast.html"))
    settled(browser, "repose.range && repose.first.note.textContent.startsWith('thinned')")
    check(browser.evaluate("repose.field") == "velocity" and browser.evaluate("repose.first.frame.count") < 500, "not the export that was asked for")


def main():
    with open("scene.yaml", "w", encoding="utf-8") as file:
        file.write(SCENE)
    subprocess.run([REPOSE, "run", "scene.yaml", "-o", "run", "--overwrite", "--quiet", "--threads", "1"], check=True)
    try:
        browser = Browser(os.getcwd(), 860, 560)
    except Unavailable as error:
        print(f"skipped: {error}")
        return 77
    try:
        worst = view(browser)
        side_by_side(browser)
        following(browser)
        worst = max(worst, fibres(browser))
        arrows(browser)
        exported(browser)
    finally:
        browser.close()
    print(f"the page and our renderer differ in {100 * worst:.2f} % of the silhouette")
    return 0


if __name__ == "__main__":
    sys.exit(main())
