"""The server of `repose view` against requests that mean no good, and against many that mean nothing."""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "browser"))
from chromium import Server  # noqa: E402
from socket_client import WebSocket, request, session  # noqa: E402

REPOSE, SANITIZE = os.environ["REPOSE"], os.environ.get("SANITIZE", "")
SCENE = """
title: Small
method: ballistic
domain: [0.4, 0.3, 0.4]
cell_size: 2.5 cm
duration: 0.2 s
frame_rate: 25
material: dry-sand
walls: {all: slip, bottom: 0.5}
grains:
  - {shape: {box: {lower: [0.1, 0.1, 0.1], upper: [0.2, 0.2, 0.2]}}}
bodies:
  - {name: ball, kind: free, shape: {sphere: {radius: 4 cm}}, position: [0.3, 0.15, 0.2], density: 2000}
"""


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def make_run(folder="run"):
    with open("small.yaml", "w", encoding="utf-8") as file:
        file.write(SCENE)
    subprocess.run([REPOSE, "run", "small.yaml", "-o", folder, "--overwrite", "--quiet", "--threads", "1"], check=True)


def memory(pid):
    """Resident bytes that are not shared with files."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        words = file.read().split()
    return (int(words[1]) - int(words[2])) * os.sysconf("SC_PAGE_SIZE")


def refusals(url):
    port, cookie = session(url)
    host, token = f"127.0.0.1:{port}", url.split("t=")[1]
    own = f"Host: {host}\r\n"
    upgrade = ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Protocol: repose.1\r\n")
    table = [  # name, request, codes that are right (0: closed without an answer)
        ("the page", f"GET /?t={token} HTTP/1.1\r\n{own}\r\n", {200}),
        ("no secret", f"GET / HTTP/1.1\r\n{own}\r\n", {403}),
        ("wrong token", f"GET /?t={'0' * 32} HTTP/1.1\r\n{own}\r\n", {403}),
        ("half a token", f"GET /?t={token[:16]} HTTP/1.1\r\n{own}\r\n", {403}),
        ("token in the wrong place", f"GET /app.js?t={token} HTTP/1.1\r\n{own}\r\n", {403}),
        ("foreign host", f"GET /?t={token} HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n", {421}),
        ("no host", f"GET /?t={token} HTTP/1.1\r\n\r\n", {421, 400}),
        ("no host, 1.0", f"GET /?t={token} HTTP/1.0\r\n\r\n", {421}),
        ("two hosts", f"GET /?t={token} HTTP/1.1\r\n{own}Host: evil.example\r\n\r\n", {400}),
        ("two cookies", f"GET / HTTP/1.1\r\n{own}Cookie: {cookie}\r\nCookie: a=b\r\n\r\n", {400}),
        ("post", f"POST /?t={token} HTTP/1.1\r\n{own}Content-Length: 4\r\n\r\nabcd", {405}),
        ("put", f"PUT /x HTTP/1.1\r\n{own}Cookie: {cookie}\r\nContent-Length: 0\r\n\r\n", {405}),
        ("delete", f"DELETE / HTTP/1.1\r\n{own}Cookie: {cookie}\r\n\r\n", {405}),
        ("options", f"OPTIONS / HTTP/1.1\r\n{own}Origin: http://evil.example\r\nAccess-Control-Request-Method: GET\r\n\r\n", {405}),
        ("connect", f"CONNECT evil.example:443 HTTP/1.1\r\n{own}\r\n", {0, 400, 405}),
        ("nonsense method", f"SAND / HTTP/1.1\r\n{own}\r\n", {400, 405, 0}),
        ("dots", f"GET /../../../etc/passwd HTTP/1.1\r\n{own}Cookie: {cookie}\r\n\r\n", {404, 400}),
        ("coded dots", f"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n{own}Cookie: {cookie}\r\n\r\n", {404, 400}),
        ("zero in the path", f"GET /app.js%00.html HTTP/1.1\r\n{own}Cookie: {cookie}\r\n\r\n", {200, 404, 400}),  # civetweb ends the path there: our own script
        ("backslashes", f"GET /..\\..\\etc\\passwd HTTP/1.1\r\n{own}Cookie: {cookie}\r\n\r\n", {404, 400}),
        ("a folder of the disk", f"GET /frames/ HTTP/1.1\r\n{own}Cookie: {cookie}\r\n\r\n", {404}),
        ("a file of the run", f"GET /scene.yaml HTTP/1.1\r\n{own}Cookie: {cookie}\r\n\r\n", {404}),
        ("another server", f"GET http://evil.example/ HTTP/1.1\r\n{own}Cookie: {cookie}\r\n\r\n", {0, 404, 400}),
        ("long line", f"GET /{'a' * 20000} HTTP/1.1\r\n{own}\r\n", {0, 400, 413, 414, 431}),
        ("long header", f"GET / HTTP/1.1\r\n{own}X: {'a' * 20000}\r\n\r\n", {0, 400, 413, 431}),
        ("many headers", f"GET / HTTP/1.1\r\n{own}" + "".join(f"X{k}: y\r\n" for k in range(500)) + "\r\n", {0, 400, 403, 413, 431}),
        ("not HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), {0, 400}),
        ("nothing", b"\r\n\r\n", {0, 400}),
        ("socket, no origin", f"GET /socket HTTP/1.1\r\n{own}Cookie: {cookie}\r\n{upgrade}\r\n", {403}),
        ("socket, foreign origin", f"GET /socket HTTP/1.1\r\n{own}Cookie: {cookie}\r\nOrigin: http://evil.example\r\n{upgrade}\r\n", {403}),
        ("socket, origin null", f"GET /socket HTTP/1.1\r\n{own}Cookie: {cookie}\r\nOrigin: null\r\n{upgrade}\r\n", {403}),
        ("socket, no cookie", f"GET /socket HTTP/1.1\r\n{own}Origin: http://{host}\r\n{upgrade}\r\n", {403}),
        ("socket, token for a cookie", f"GET /socket?t={token} HTTP/1.1\r\n{own}Origin: http://{host}\r\n{upgrade}\r\n", {403}),
        ("socket, foreign host", f"GET /socket HTTP/1.1\r\nHost: evil.example:{port}\r\nOrigin: http://evil.example:{port}\r\nCookie: {cookie}\r\n{upgrade}\r\n", {421}),
        ("socket, other run", f"GET /socket?run=7 HTTP/1.1\r\n{own}Origin: http://{host}\r\nCookie: {cookie}\r\n{upgrade}\r\n", {404}),
        ("socket without upgrade", f"GET /socket HTTP/1.1\r\n{own}Origin: http://{host}\r\nCookie: {cookie}\r\n\r\n", {426}),
        ("socket elsewhere", f"GET /other HTTP/1.1\r\n{own}Origin: http://{host}\r\nCookie: {cookie}\r\n{upgrade}\r\n", {404}),
        ("socket of another version", f"GET /socket HTTP/1.1\r\n{own}Origin: http://{host}\r\nCookie: {cookie}\r\n{upgrade.replace('Version: 13', 'Version: 7')}\r\n", {426, 400, 0}),
    ]
    for name, text, right in table:
        code, head, body = request(port, text)
        check(code in right, f"{name}: {code} in place of {sorted(right)}")
        if code:
            lower = head.lower()
            check("access-control" not in lower, f"{name}: a CORS header")
            for header in ("content-security-policy: default-src 'none'", "x-content-type-options: nosniff", "cache-control: no-store",
                           "cross-origin-opener-policy: same-origin", "cross-origin-embedder-policy: require-corp",
                           "cross-origin-resource-policy: same-origin"):
                check(header in lower, f"{name}: no header {header}")
            check(code == 200 or ("set-cookie" not in lower and b"repose-" not in body), f"{name}: a secret was told")
            check(token not in head + body.decode("latin1"), f"{name}: the token came back")
            check("root:" not in body.decode("latin1"), f"{name}: a file of the disk")
    return len(table)


def crc_of(frame):
    return zlib.crc32(frame[:60] + bytes(4) + frame[64:])


def frames(url):
    s = WebSocket(url)
    scene = json.loads(s.until(1, lambda p: b'"scene"' in p[:40]))
    check(scene["frames"] == list(range(6)), f"frames of the scene: {scene['frames']}")
    check(scene["bodies"][0]["name"] == "ball" and len(scene["bodies"][0]["vertices"]) > 100, "the ball has no mesh")
    table = json.loads(s.until(1, lambda p: b'"table"' in p[:40]))
    check("kinetic_energy" in [c["name"] for c in table["columns"]], "no energy in the table")
    for k in (0, 5, 3):
        s.send(json.dumps({"type": "seek", "frame": k}))
        frame = s.until(2)
        check(frame[:4] == b"RPF1" and struct.unpack_from("<Q", frame, 8)[0] == k, f"not frame {k}")
        check(crc_of(frame) == struct.unpack_from("<I", frame, 60)[0], "a damaged frame")
    s.send(json.dumps({"type": "color", "field": "velocity", "min": 0, "max": 0}))
    told = json.loads(s.until(1, lambda p: b'"range"' in p[:40]))
    check(told["max"] > told["min"], "no range")
    s.send(json.dumps({"type": "color", "field": "taste", "min": 0, "max": 0}))
    check(b"taste" in s.until(1, lambda p: b'"error"' in p[:40]), "an unknown field was not said")
    s.send(json.dumps({"type": "seek", "frame": 99}))
    check(json.loads(s.until(1, lambda p: b'"lost"' in p[:40]))["frame"] == 99, "a frame that is not there was not said")
    s.send(json.dumps({"type": "probe", "frame": 2, "index": 3, "stride": 1}))
    probe = json.loads(s.until(1, lambda p: b'"probe"' in p[:40]))
    check({"position", "velocity"} <= {v["name"] for v in probe["values"]} and len(probe["path"]) == 6, "a poor probe")
    s.send(json.dumps({"type": "probe", "frame": 2, "index": 10 ** 9, "stride": 1}))
    s.send("{not json")
    s.until(1, lambda p: b'"error"' in p[:40])
    s.close()


def hostile_sockets(url):
    def closed_after(name, **how):
        s = WebSocket(url, limit=15)
        s.send(**how)
        for _ in range(50):
            if s.receive()[0] == 8:
                break
        else:
            raise AssertionError(f"{name}: the server went on")
        s.close()
    closed_after("a message of 65 kB", payload="x" * 65600)
    closed_after("half a message", payload='{"type":"hello"}', final=False)
    closed_after("a binary message", payload=b"1234", opcode=2)
    closed_after("a continuation of nothing", payload=b"1234", opcode=0)
    closed_after("an unknown opcode", payload=b"1234", opcode=11)
    closed_after("2^62 bytes announced", payload=b"1234", length=1 << 62)
    s = WebSocket(url)  # without a mask: browsers never do it, civetweb takes it; it is one message and no more
    s.send(json.dumps({"type": "seek", "frame": 3}), masked=False)
    frame = s.until(2)
    check(struct.unpack_from("<Q", frame, 8)[0] == 3, "a message without a mask is misread")
    s.close()
    s = WebSocket(url)  # a flood
    try:
        for _ in range(40):
            s.send_many = b"".join(b"\x81\x8f\0\0\0\0" + b'{"type":"ack"}\n' for _ in range(100))
            s.socket.sendall(s.send_many)
        flood = True
        for _ in range(5000):
            if s.receive()[0] == 8:
                flood = False
                break
        check(not flood, "four thousand messages at once were taken")
    except (BrokenPipeError, ConnectionResetError):
        pass
    s.close()
    held = [WebSocket(url) for _ in range(4)]  # four pages, and no fifth
    try:
        WebSocket(url)
        raise AssertionError("a fifth page was let in")
    except ConnectionError as error:
        check("503" in str(error), f"the fifth page: {error}")
    for s in held:
        s.close()
    for _ in range(100):
        try:
            WebSocket(url).close()
            break
        except ConnectionError:
            time.sleep(0.1)
    else:
        raise AssertionError("places are not given back")


def links(url):
    """A link in the folder is not followed."""
    os.rename("run/frames/frame_000002.vtkhdf", "elsewhere.vtkhdf")
    os.symlink(os.path.abspath("elsewhere.vtkhdf"), "run/frames/frame_000002.vtkhdf")
    server = Server(REPOSE, "view", "run")
    try:
        s = WebSocket(server.url)
        s.send(json.dumps({"type": "seek", "frame": 2}))
        check(json.loads(s.until(1, lambda p: b'"lost"' in p[:40]))["frame"] == 2, "a link was followed")
        s.send(json.dumps({"type": "seek", "frame": 3}))
        s.until(2)
        s.close()
    finally:
        server.stop()
        os.unlink("run/frames/frame_000002.vtkhdf")
        os.rename("elsewhere.vtkhdf", "run/frames/frame_000002.vtkhdf")


def follow():
    """A run that is being written: its frames come by themselves."""
    server = Server(REPOSE, "view", "run")
    try:
        s = WebSocket(server.url)
        s.until(1, lambda p: b'"scene"' in p[:40])
        with open("run/frames/frame_000005.vtkhdf", "rb") as file:
            data = file.read()
        with open("aside", "wb") as file:
            file.write(data)
        os.rename("aside", "run/frames/frame_000006.vtkhdf")
        told = json.loads(s.until(1, lambda p: b'"frames"' in p[:30]))
        check(told["frames"][-1] == 6, "the new frame was not said")
        s.close()
    finally:
        server.stop()
        os.unlink("run/frames/frame_000006.vtkhdf")


def killed():
    """A viewer that is killed while a run is written, and a run that is killed while it is viewed: the same bytes as without."""
    frames = sorted(os.listdir("run/frames"))
    shutil.rmtree("watched", ignore_errors=True) # of a test before: its frames would be there at once
    run = subprocess.Popen([REPOSE, "run", "small.yaml", "-o", "watched", "--overwrite", "--quiet", "--threads", "1"])
    while run.poll() is None and not os.path.exists("watched/frames/frame_000001.vtkhdf"):
        time.sleep(0.001)
    server = Server(REPOSE, "view", "watched")
    s = WebSocket(server.url)
    s.until(1, lambda p: b'"scene"' in p[:40])
    server.kill()
    if run.poll() is None:
        run.kill()
    run.wait()
    server = Server(REPOSE, "view", "watched")
    subprocess.run([REPOSE, "resume", "watched", "--quiet", "--threads", "1"], check=True)
    server.kill()
    check(sorted(os.listdir("watched/frames")) == frames, f"frames of a run whose viewer was killed: {os.listdir('watched/frames')}")
    for name in frames:
        with open(f"run/frames/{name}", "rb") as a, open(f"watched/frames/{name}", "rb") as b:
            check(a.read() == b.read(), f"{name} of a run whose viewer was killed differs")


def many(url, pid, count):
    """Connections opened and dropped, some after half a request: memory stays where it was."""
    port, cookie = session(url)
    half = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n".encode()
    def one(k):
        s = socket.create_connection(("127.0.0.1", port), timeout=30)
        try:
            if k % 4 == 1:
                s.sendall(half)
            elif k % 4 == 2:
                s.sendall(half + b"\r\n")
                s.recv(1000)
            elif k % 4 == 3:
                s.sendall(b"\0\xff" * 10)
        except OSError:
            pass
        s.close()
    for k in range(1000):
        one(k)
    time.sleep(0.5)
    before = memory(pid)
    for k in range(count):
        one(k)
    time.sleep(0.5)
    grown = memory(pid) - before
    check(grown < 2 << 20, f"{count} connections cost {grown} bytes")
    check(request(port, f"GET /?t={url.split('t=')[1]} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")[0] == 200, "the server is gone")
    return grown


def main():
    make_run()
    for words, arguments in (("--i-know", ["--listen", "0.0.0.0"]), ("no address", ["--listen", "all"]), ("65535", ["--port", "70000"])):
        done = subprocess.run([REPOSE, "view", "run", "--no-browser", *arguments], capture_output=True, text=True, timeout=60)
        check(done.returncode == 2 and words in done.stderr, f"{arguments}: {done.returncode} {done.stderr}")
    done = subprocess.run([REPOSE, "view", "nowhere", "--no-browser"], capture_output=True, text=True, timeout=60)
    check(done.returncode == 1 and "nowhere" in done.stderr, f"a folder that is not there: {done.returncode} {done.stderr}")
    server = Server(REPOSE, "view", "run")
    try:
        lazy = socket.create_connection(("127.0.0.1", session(server.url)[0]), timeout=60)
        lazy.sendall(b"GET / HTTP/1.1\r\nHost: ")  # and then nothing: it is not waited for
        requests = refusals(server.url)
        frames(server.url)
        hostile_sockets(server.url)
        count = 1000 if SANITIZE else 10000
        grown = many(server.url, server.process.pid, count)
        check(server.process.poll() is None, "the server has ended")
        try:
            while lazy.recv(1000):
                pass
        except ConnectionResetError:
            pass
        lazy.close()
    finally:
        code = server.stop()
    check(code == 0, f"the server ended with {code}")
    links(server.url)
    follow()
    killed()
    print(f"{requests} requests judged; {count} connections dropped cost {grown} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
