# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, over its debugging protocol: pages as people see them, for tests.

The protocol goes over two pipes (--remote-debugging-pipe): messages are JSON, with a NUL behind each.
"""
import base64
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def program():
    """The browser, or None."""
    return os.environ.get("QUERN_CHROMIUM") or next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="quern-pages-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def ends():  # the browser reads 3 and writes 4
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder.name}", "about:blank"],
            preexec_fn=ends, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        for end in (self.write_end, self.read_end):
            os.close(end)
        for _ in range(20):  # helpers of the browser may still write there
            try:
                self.folder.cleanup()
                return
            except OSError:
                time.sleep(.1)

    def message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            if not select.select([self.read_end], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError(f"the browser says nothing for {seconds} s")
            got = os.read(self.read_end, 1 << 20)
            if not got:
                raise RuntimeError("the browser has ended")
            self.rest += got
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, seconds=60, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            answer = self.message(seconds)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width, height, scheme="light", touch=False):
        """Opens a file; the seconds until it has been painted."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=2 if touch else 1)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.navigate("data:text/html,")
        begin = time.monotonic()
        self.navigate(pathlib.Path(path).resolve().as_uri())
        self.frame()
        return time.monotonic() - begin

    def navigate(self, url):
        self.events = []
        self.call("Page.navigate", url=url)
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message(60))

    def evaluate(self, expression):
        """A value of the page; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def frame(self):
        self.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")

    def problems(self):
        """What the console has been told since the page was opened."""
        self.evaluate("1")
        found = []
        for e in self.events:
            if e["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(e["params"]["exceptionDetails"]))
            elif e["method"] == "Runtime.consoleAPICalled" and e["params"]["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(e["params"]["args"]))
            elif e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] in ("error", "warning"):
                found.append(e["params"]["entry"]["text"])
        return found

    def key(self, key, text=None, shift=False):
        code = {"Escape": 27, "Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = text if text is not None else (key if len(key) == 1 else "\r" if key == "Enter" else "")
        more = {"key": key, "windowsVirtualKeyCode": code.get(key, ord(key[0].upper())), "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", **more)
        self.frame()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.frame()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x0, y0, x1, y1):
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1)
        for i in range(1, 5):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / 4, y0 + (y1 - y0) * i / 4, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)
        self.frame()

    def click(self, x, y):
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.frame()

    def wheel(self, x, y, by):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=by)
        self.frame()

    def touch(self, kind, points):
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])

    def pinch(self, x, y, near, far):
        """Two fingers, from `near` to `far` pixels on each side of a place."""
        self.touch("touchStart", [(x - near, y), (x + near, y)])
        for i in range(1, 6):
            wide = near + (far - near) * i / 5
            self.touch("touchMove", [(x - wide, y), (x + wide, y)])
        self.touch("touchEnd", [])
        self.frame()

    def picture(self, path=None):
        """A screenshot as PNG; written to a file where one is named."""
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path:
            pathlib.Path(path).write_bytes(png)
        return png


def pixels(png):
    """Width, height and rows of (red, green, blue) of a PNG with 8 bits a channel."""
    at, data, width, height, channels = 8, b"", 0, 0, 3
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        block = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack_from(">IIBB", block)
            channels = {2: 3, 6: 4}[colour]
            assert depth == 8
        elif kind == b"IDAT":
            data += block
        at += size + 12
    raw, rows, stride, before = zlib.decompress(data), [], width * channels, bytearray(width * channels)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            a = row[i - channels] if i >= channels else 0
            b, c = before[i], before[i - channels] if i >= channels else 0
            if kind == 1:
                row[i] = row[i] + a & 255
            elif kind == 2:
                row[i] = row[i] + b & 255
            elif kind == 3:
                row[i] = row[i] + (a + b) // 2 & 255
            elif kind == 4:
                p = a + b - c
                row[i] = row[i] + min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2] & 255
        rows.append([tuple(row[x * channels:x * channels + 3]) for x in range(width)])
        before = row
    return width, height, rows
