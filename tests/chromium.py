"""Headless Chromium driven over its debugging pipe: enough to open a page and to ask what happened."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --remote-debugging-pipe"
).split()


class Chromium:
    """One browser with one page.

    Parameters
    ----------
    *flags : str
        More flags than the usual ones.
    """

    def __init__(self, *flags):
        binary = next(filter(None, map(shutil.which, NAMES)), None)
        if binary is None:
            pytest.skip("Chromium is not installed")
        self._profile = tempfile.mkdtemp()
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        def connect():  # the browser reads commands from descriptor 3 and writes answers to 4
            first, second = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [binary, *FLAGS, *flags, f"--user-data-dir={self._profile}"],
            preexec_fn=connect,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        os.set_blocking(ours_in, False)
        self._in, self._out, self._rest, self._number = ours_in, ours_out, b"", 0
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Send a command and return its answer; keep what happens meanwhile."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._wait(lambda answer: answer.get("id") == self._number)["result"]

    def open(self, path, width=1000, height=1400, mobile=False):
        """Open a file, or the address of a page, and wait until it is loaded."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.events.clear()
        self.call("Page.navigate", url=path if isinstance(path, str) else path.resolve().as_uri())
        if not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self._wait(lambda event: event.get("method") == "Page.loadEventFired")

    def ask(self, expression):
        """Return the value of an expression in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression, seconds=60):
        """Wait until an expression in the page is true."""
        deadline = time.monotonic() + seconds
        while not self.ask(expression):
            assert time.monotonic() < deadline, f"{expression} did not become true"
            time.sleep(0.05)

    def nameless(self):
        """Return the roles of what people operate or look at that has no name for those who cannot see it."""
        roles = {"button", "checkbox", "combobox", "image", "link", "region", "slider", "spinbutton", "textbox"}
        roles |= {"columnheader", "img", "Canvas", "alert"}
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        told = [one for one in nodes if not one["ignored"] and one["role"]["value"] in roles]
        return [one["role"]["value"] for one in told if not one.get("name", {}).get("value", "").strip()]

    def screenshot(self):
        """Return a picture of what is seen, as bytes of a PNG file."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def _wait(self, wanted, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            while b"\0" in self._rest:
                text, self._rest = self._rest.split(b"\0", 1)
                message = json.loads(text)
                if "method" in message:
                    self.events.append(message)
                if wanted(message):
                    return message
            try:
                self._rest += os.read(self._in, 1 << 20)
            except BlockingIOError:
                time.sleep(0.01)
        raise TimeoutError("Chromium did not answer")

    def close(self):
        """End the browser and remove its profile."""
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)
