"""A real browser for tests: one Chromium for a module, and pages that watch their console and their requests."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; skips where there is none."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass(slots=True)
class Watched:
    """Everything that a page has asked for and complained about."""

    errors: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)

    def watch(self, page: Any) -> None:
        """Listen to a page."""
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.urls.append(request.url))

    def hosts(self) -> set[str]:
        """Hosts that were asked; files that the page made itself have none."""
        return {url.split("/")[2] for url in self.urls if url.startswith("http")}
