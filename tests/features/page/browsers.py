"""A real browser for tests: Chromium, and pages that watch their console and their requests."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox",
    # The drawing needs no graphics processor, and emulating one is slow.
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WAIT_SECONDS = 30
POLL_MS = 20
COLOURS = """canvas => {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let i = 0; i < pixels.length; i += 4) seen.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
  return seen.size;
}"""
"""A function of the browser: the number of colours on a canvas, which is one if nothing is drawn."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; skips where there is none."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium: make browser")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


def until(place: Any, expression: str, arg: object = None) -> None:
    """Ask a page or frame until an expression is true: the page's policy forbids the polling of Playwright itself."""
    ends_at = time.monotonic() + WAIT_SECONDS
    while not place.evaluate(expression, arg):
        assert time.monotonic() < ends_at, f"never true: {expression}"
        place.wait_for_timeout(POLL_MS)


@dataclass(slots=True)
class Watched:
    """Everything that a page has asked for and complained about."""

    errors: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    expected: set[int] = field(default_factory=set)
    """Statuses of answers that a test provokes; the browser prints each as an error."""

    def watch(self, page: Any) -> None:
        """Listen to a page."""
        page.on("console", lambda message: self._note(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.urls.append(request.url))

    def _note(self, text: str) -> None:
        if not any(f"status of {status} " in text for status in self.expected):
            self.errors.append(text)

    def hosts(self) -> set[str]:
        """Hosts that were asked; files that the page made itself have none."""
        return {url.split("/")[2] for url in self.urls if url.startswith("http")}
