"""A page in a headless Chromium, asked over its debugging pipe: no driver, no port, no network."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
# Neither the processor of the picture nor the fonts' hints may differ from run to run.
_OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run "
    "--disable-extensions --disable-background-networking --disable-component-update --disable-sync "
    "--font-render-hinting=none --disable-lcd-text --force-color-profile=srgb --lang=en "
    "--remote-debugging-pipe"
).split()
# A busy machine takes many seconds to start it.
_PATIENCE_S = 120


class ChromiumPage:
    """One page: what it asked for, what it complained about, and what it answers."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._to, self._from = to_browser, from_browser
        self._buffer, self._number, self._session = b"", 0, ""
        self._loaded: set[str] = set()

    def open(self, path: Path, width: int = 1_200, height: int = 900, scale: int = 1) -> None:
        """Open the file in a page of this size, and wait until it is loaded."""
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self._send(f"{domain}.enable")
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        self._send("Page.setLifecycleEventsEnabled", enabled=True)
        loader = self._send("Page.navigate", url=path.as_uri())["loaderId"]
        while loader not in self._loaded:  # not that of the empty page before
            self._receive()
        self.settle()

    def settle(self) -> None:
        """Wait until what the page waits for (sizes, a frame) has been drawn."""
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
        )

    def set_scheme(self, scheme: str) -> None:
        """Prefer light or dark colours."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._send("Emulation.setEmulatedMedia", features=[feature])

    def evaluate(self, script: str) -> Any:
        """The value of the expression in the page; of a promise, what it comes to."""
        answer = self._send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self._send("Input.dispatchKeyEvent", type=kind, key=key, code=key, **text)

    def draw(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self._send("Page.captureScreenshot", format="png")["data"])

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        """The next message; what it reports is noted."""
        deadline = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self._from, 1 << 20) if ready else b""
            assert data, "Chromium says nothing any more"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        method, facts = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        elif method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
            self.errors.append(json.dumps(facts))
        elif method == "Page.lifecycleEvent" and facts["name"] == "load":
            self._loaded.add(facts["loaderId"])
        return message


@contextmanager
def open_page(path: Path, profile: Path, **size: int) -> Iterator[ChromiumPage]:
    """The file as a page of a browser that keeps its own files in the folder `profile`."""
    theirs_in, to_browser = os.pipe()
    from_browser, theirs_out = os.pipe()
    words = [PROGRAM, *_OPTIONS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        ["bash", "-c", f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}', *words],
        pass_fds=(theirs_in, theirs_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        page = ChromiumPage(to_browser, from_browser)
        page.open(path, **size)
        yield page
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(to_browser)
        os.close(from_browser)
