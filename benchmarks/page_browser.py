"""A page of a graph in a real browser: ``omnigraph ui`` as a process of its own, and Chromium without a window."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def served(path: Path) -> Iterator[str]:
    """The address of the page of a graph, with its token."""
    command = [Path(sys.executable).with_name("omnigraph"), "ui", "--no-browser", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None, "omnigraph ui printed no address"
            yield found[0]
        finally:
            process.terminate()


@contextmanager
def browser_page(address: str) -> Iterator[Any]:
    """A page of Chromium that shows the overview of the graph."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("needs Chromium: make browser")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page.goto(address)
        page.locator(".schema text").first.wait_for()
        yield page
        browser.close()
