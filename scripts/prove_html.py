"""The HTML pages in a real browser: accessibility by axe-core, layout, keyboard, script and network, with screenshots.

npm install axe-core
python scripts/prove_html.py --axe node_modules/axe-core/axe.min.js [--out FOLDER] [--only NAME] [--chromium PROGRAM]

Each page of `pages()` at 360, 800 and 1440 pixels, light and dark. Exit code 1 where axe-core finds anything (WCAG 2 A
and AA, and its best practices), the page is wider than the window, something was fetched or refused, the script raised,
or the copy buttons, the filter or the keyboard do not work. Chromium is driven through its DevTools protocol on a pipe;
no other package is needed.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

WIDTHS = (360, 800, 1440)
SCHEMES = ("light", "dark")


class Browser:
    """A headless Chromium. What it says of a page in the meantime is in `heard`."""

    def __init__(self, program: str, profile: str) -> None:
        ours, theirs = os.pipe(), os.pipe()  # they read from the first, and write to the second
        argv = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
            f"--user-data-dir={profile}", "--force-color-profile=srgb", "about:blank",
        ]  # fmt: skip
        shell = f'exec "$@" 3<&{ours[0]} 4>&{theirs[1]}'
        self._process = subprocess.Popen(
            ["sh", "-c", shell, "sh", *argv], pass_fds=(ours[0], theirs[1]), stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._out, self._in = ours[1], os.fdopen(theirs[0], "rb")
        self._rest, self._last, self._session = b"", 0, ""
        self.heard: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> Any:
        """The result of one command."""
        self._last += 1
        asked: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        while True:
            said = self._message()
            if said.get("id") != self._last:
                self.heard.append(said)
            elif "error" in said:
                raise RuntimeError(f"{method}: {said['error']['message']}")
            else:
                return said["result"]

    def wait(self, event: str) -> None:
        """Until that was heard."""
        while not any(said.get("method") == event for said in self.heard):
            self.heard.append(self._message())

    def evaluate(self, code: str) -> Any:
        """The value of an expression in the page; of a promise, what it becomes."""
        done = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return done["result"].get("value")

    def press(self, key: str) -> None:
        """One key."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(RuntimeError, OSError):
            self._session = ""
            self.call("Browser.close")
        self._process.wait(timeout=20)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._in.fileno(), 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        result: dict[str, Any] = json.loads(text)
        return result


def pages() -> dict[str, str]:
    """The pages to look at, by name."""
    from doctor.reports import html
    from doctor.reports.bench import html as bench
    from doctor.reports.fleet import html as fleet
    from tests.bench import samples as benches
    from tests.fleet.test_reports import sick
    from tests.reports import samples

    found = {
        name: html.render(samples.ALL[name])
        for name in ("healthy", "faulty", "many", "likely", "unknown", "unexplained", "measured", "hostile")
    }
    long = replace(samples.FAULTY, findings=(replace(samples.TOO_OLD, detail="word " * 400 + "x" * 3000),))
    found["long"] = html.render(long)
    for name, sample in benches.ALL.items():
        found[f"bench-{name}"] = bench.render(benches.explained(sample))
    found["fleet"] = fleet.render(sick())
    return found


AXE = """
axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v =>
  v.id + " (" + v.impact + "): " + v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " +
  (n.any[0] ? n.any[0].message : n.failureSummary)).join(" | ")))
"""
OVERFLOW = """
(room => { const whole = document.documentElement.scrollWidth;
  if (whole <= room) return [];
  return [whole + " px"].concat(Array.from(document.querySelectorAll("body *")).filter(e =>
    e.getBoundingClientRect().right > room + 1 && !e.closest(".wide") && !e.closest(".said")
  ).slice(0, 3).map(e => e.tagName + "." + e.className)); })
"""


def problems_of(browser: Browser, axe: str, width: int) -> Iterator[str]:
    """What is wrong with the page that is open."""
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.evaluate(axe)
    yield from (f"axe: {line}" for line in browser.evaluate(AXE))
    yield from (f"wider than the window: {line}" for line in browser.evaluate(f"{OVERFLOW.strip()}({width})"))
    for said in browser.heard:
        params = said.get("params", {})
        if said.get("method") == "Network.requestWillBeSent" and not params["request"]["url"].startswith("file:"):
            yield f"fetched {params['request']['url']}"
        if said.get("method") == "Runtime.exceptionThrown":
            yield f"the script raised: {params['exceptionDetails'].get('text')}"
        if said.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            yield f"the browser refused: {params['entry']['text']}"


def uses_of(browser: Browser) -> Iterator[str]:
    """What does not work of what a reader does: the first Tab, the copy buttons, the filters."""
    browser.press("Tab")
    if browser.evaluate("document.activeElement.className") != "skip":
        yield "the first Tab does not reach the link to the content"
    commands, buttons = (browser.evaluate(f"document.querySelectorAll('{s}').length") for s in ("pre.copy", "button"))
    if commands != buttons:
        yield f"{commands} commands, {buttons} buttons"
    if commands:
        browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        copied = browser.evaluate(
            "(async () => { document.querySelector('button').click(); await new Promise(r => setTimeout(r, 200));"
            "return [document.querySelector('button').firstChild.data, await navigator.clipboard.readText(),"
            "document.querySelector('pre.copy').textContent.trim()]; })()"
        )
        if copied[0] != "Copied" or copied[1].replace("\r\n", "\n") != copied[2]:
            yield f"copying gave {copied}"
    if browser.evaluate("document.querySelectorAll('table.filtered').length"):
        left = browser.evaluate(
            "(() => { const f = document.querySelector('.filter input'); f.value = 'python'; f.dispatchEvent(new"
            " Event('input')); const rows = Array.from(document.querySelector('table.filtered').tBodies[0].rows);"
            "const left = rows.filter(r => getComputedStyle(r).display !== 'none');"
            "const right = left.every(r => /python/i.test(r.textContent));"
            "f.value = ''; f.dispatchEvent(new Event('input'));"
            "return [right, rows.every(r => !r.hidden), !!document.querySelector('.filter .count').textContent]; })()"
        )
        if left != [True, True, True]:
            yield f"the filter: {left}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axe", required=True, type=Path, help="axe.min.js of axe-core")
    parser.add_argument("--out", type=Path, help="where the screenshots and PDFs go")
    parser.add_argument("--only", action="append", help="a page's name (repeatable)")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--page", action="append", type=Path, default=[], help="a page of your own")
    options = parser.parse_args()
    axe = options.axe.read_text(encoding="utf-8")
    made = {path.stem: path.read_text(encoding="utf-8") for path in options.page} or pages()
    bad = looked = 0
    with tempfile.TemporaryDirectory(prefix="torchdoctor-html-", ignore_cleanup_errors=True) as folder:
        browser = Browser(options.chromium, f"{folder}/profile")
        try:
            for name, text in made.items():
                if options.only and name not in options.only:
                    continue
                file = Path(folder) / f"{name}.html"
                file.write_text(text, encoding="utf-8")
                for width in WIDTHS:
                    for scheme in SCHEMES:
                        found = list(_look(browser, file, width, scheme, axe, options.out))
                        looked += 1
                        bad += bool(found)
                        for line in dict.fromkeys(found):
                            print(f"{name} {width} {scheme}: {line}")
        finally:
            browser.close()
    print(f"{looked} views, {bad} with problems")
    return 1 if bad or not looked else 0


def _look(browser: Browser, file: Path, width: int, scheme: str, axe: str, out: Path | None) -> Iterator[str]:
    browser.heard.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
    media = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    browser.call("Emulation.setEmulatedMedia", features=[{"name": k, "value": v} for k, v in media.items()])
    browser.call("Page.navigate", url=file.as_uri())
    browser.wait("Page.loadEventFired")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True, format="png", clip=_all_of(browser))
        (out / f"{file.stem}-{width}-{scheme}.png").write_bytes(base64.b64decode(shot["data"]))
        if width == WIDTHS[-1] and scheme == "dark":
            printed = browser.call("Page.printToPDF", printBackground=False)
            (out / f"{file.stem}.pdf").write_bytes(base64.b64decode(printed["data"]))
    yield from uses_of(browser)
    yield from problems_of(browser, axe, width)


def _all_of(browser: Browser) -> dict[str, float]:
    size = browser.call("Page.getLayoutMetrics")["cssContentSize"]
    return {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}


if __name__ == "__main__":
    sys.exit(main())
