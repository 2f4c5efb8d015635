"""A headless Chromium driven over its debugging pipe: JSON messages that end with a zero byte, on descriptors 3 and 4."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Unavailable(Exception):
    """There is no browser here, or it does not start."""


class Browser:
    def __init__(self, scratch, width=960, height=540):
        program = next((p for p in ("chromium", "chromium-browser", "google-chrome") if shutil.which(p)), None)
        if not program:
            raise Unavailable("there is no chromium")
        self.profile = tempfile.mkdtemp(prefix="profile-", dir=scratch)
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()
        arguments = [program, "--headless=new", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
                     "--disable-extensions", "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe",
                     f"--user-data-dir={self.profile}", f"--window-size={width},{height}"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        self.log = open(os.path.join(self.profile, "log.txt"), "wb")
        # the pipe is on descriptors 3 and 4 of the child
        def place():
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)
        self.process = subprocess.Popen(arguments + ["about:blank"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        preexec_fn=place, close_fds=False, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.pending, self.last, self.events = b"", 0, []
        self.session = self.target = None
        try:
            self.call("Browser.getVersion", limit=60)
        except Exception as error:
            self.close()
            raise Unavailable(f"chromium does not start: {error}") from error

    def read(self, limit):
        end = time.monotonic() + limit
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.read_end], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            data = os.read(self.read_end, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self.pending += data
        text, _, self.pending = self.pending.partition(b"\0")
        return json.loads(text)

    def call(self, method, params=None, limit=300):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params or {}}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        end = time.monotonic() + limit
        while True:
            answer = self.read(max(0, end - time.monotonic()))
            if answer is None:
                raise RuntimeError(f"no answer to {method}")
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        """A page of its own; its errors and requests are kept in `events`."""
        self.session = None
        if self.target:
            self.call("Target.closeTarget", {"targetId": self.target})
        self.target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": self.target, "flatten": True})["sessionId"]
        self.events.clear()
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", {"url": url})

    def evaluate(self, expression, limit=300):
        result = self.call("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}, limit)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def wait(self, expression, limit=300):
        """Until the expression is true. The limit is for what never comes true; nothing is ever asserted by the clock."""
        end = time.monotonic() + limit
        while True:
            try:
                value = self.evaluate(expression)
            except RuntimeError:
                value = None
            if value:
                return value
            if time.monotonic() > end:
                status = self.evaluate("document.getElementById('status') ? document.getElementById('status').textContent : ''")
                raise RuntimeError(f"never came true: {expression} (the page says: {status})")
            time.sleep(0.05)

    def key(self, key, code=None, down=True, up=True, modifiers=0):
        virtual = {" ": 32, "Home": 36, "End": 35, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Backspace": 8,
                   "Tab": 9, "Enter": 13, "Escape": 27}.get(key, ord(key.upper()) if len(key) == 1 else 0)
        base = {"key": key, "code": code or (f"Key{key.upper()}" if len(key) == 1 and key.isalpha() else key), "windowsVirtualKeyCode": virtual,
                "modifiers": modifiers}
        if down:
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            self.call("Input.dispatchKeyEvent", {"type": "keyDown", **base, **text})
        if up:
            self.call("Input.dispatchKeyEvent", {"type": "keyUp", **base})

    def mouse(self, kind, x, y, button="left", buttons=0):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": button, "buttons": buttons,
                                               "clickCount": 1 if kind != "mouseMoved" else 0})

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def check_controls(self):
        """Every control that is seen is reached by Tab, and has a name for a screen reader. Returns how many there are."""
        seen = ("[...document.querySelectorAll('button, input, select, [tabindex]')]"
                ".filter(e => !e.disabled && e.offsetParent !== null && (e.type !== 'radio' || e.checked) && !e.closest('dialog'))")
        self.evaluate("document.activeElement.blur()")
        self.evaluate(f"window.seenControls = {seen}; window.reached = new Set(); document.addEventListener('focusin', e => reached.add(e.target))")
        count = self.evaluate("seenControls.length")
        for _ in range(count + 3):
            self.key("Tab")
        missing = self.evaluate("seenControls.filter(e => !reached.has(e)).map(e => e.id || e.textContent)")
        self.evaluate("document.activeElement.blur()")
        if missing:
            raise AssertionError(f"Tab does not reach {missing}")
        roles = ("button", "slider", "checkbox", "combobox", "spinbutton", "image", "img", "radio", "textbox", "listbox", "Canvas")
        nameless = [node["role"]["value"] for node in self.call("Accessibility.getFullAXTree")["nodes"]
                    if not node.get("ignored") and node.get("role", {}).get("value") in roles and not node.get("name", {}).get("value", "").strip()]
        if nameless:
            raise AssertionError(f"controls without a name for a screen reader: {nameless}")
        return count

    def console_errors(self):
        """What went wrong in the page: errors on the console, exceptions, failed requests (but for those that were expected)."""
        wrong = []
        for event in self.events:
            p = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                wrong.append(p["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif event["method"] == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
                wrong.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
            elif event["method"] == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                wrong.append(p["entry"]["text"])
        return wrong

    def requests(self):
        self.evaluate("1")
        urls = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return urls + [e["params"]["url"] for e in self.events if e["method"] == "Network.webSocketCreated"]

    def close(self):
        try:
            self.session = None
            self.call("Browser.close", limit=10)
        except Exception:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for end in (self.read_end, self.write_end):
            os.close(end)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)


class Server:
    """`repose view` or `repose play`, with its address."""

    def __init__(self, repose, *arguments):
        self.process = subprocess.Popen([repose, *arguments, "--no-browser", "--print-url"], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http://127.0.0.1:"):
            self.process.kill()
            raise RuntimeError(f"no address from repose {' '.join(arguments)}")
        self.origin = self.url.split("/?")[0]

    def kill(self):
        """As if it had crashed."""
        self.process.kill()
        self.process.wait(300)
        self.process.stdout.close()

    def stop(self):
        self.process.terminate()
        code = self.process.wait(300)
        self.process.stdout.close()
        return code
