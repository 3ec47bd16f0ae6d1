"""The page in a real browser: bytes of each screen, the review of 10,000 changes, first picture and frames of drawings.

    python -m benchmarks page

Chromium draws in software, as in the tests. Times are those of the browser, medians of several rounds.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import omnigraph
from benchmarks.page_browser import browser_page, served

CHANGES = 10_000
ROUNDS = 5
ELEMENTS = (1_000, 5_000, 20_000)
"""Nodes and edges together, one half each."""

SCHEMA = "node Doc { title: String @key  words: I32? }\nedge Cites: Doc -> Doc"
QUERY = "query q() { match { $d: Doc } return { $d.title, $d.words } limit 50 }"
SCREENS: dict[str, tuple[dict[str, str], str]] = {
    "overview": ({}, ".schema text"),
    "query": ({"text": QUERY, "run": "1"}, "tbody tr"),
    "browse": ({"type": "Doc"}, "tbody tr"),
    "history": ({}, ".commits tbody tr"),
    "review": ({"source": "large0", "target": "main"}, "[data-drawn] canvas"),
    "jobs": ({}, "[aria-label=Findings] summary"),
}
RESOURCES = """performance.getEntriesByType('resource').filter(entry => entry.name.includes('/ui/'))
  .map(entry => [entry.decodedBodySize, entry.encodedBodySize])"""
DRAW = """async ([address, count]) => {
  const { Drawing } = await import(address + "drawing/drawing.js");
  const host = document.body.appendChild(document.createElement("div"));
  Object.assign(host.style, { position: "fixed", inset: "0", zIndex: 99 });
  const place = (i) => ({ x: Math.sqrt(i) * Math.cos(i * 2.4), y: Math.sqrt(i) * Math.sin(i * 2.4) });
  const node = (i) => ({ key: String(i), type: `T${i % 5}`, label: `n${i}`, ...place(i) });
  const nodes = Array.from({ length: count }, (_, i) => node(i));
  const edges = nodes.map((_, i) => ({ source: String(i), target: String((i * 7) % count), type: "E" }));
  const began = performance.now();
  const drawing = new Drawing(host, { nodes, edges }, { label: "benchmark" });
  drawing.painter.paint(1, drawing.focus);
  const first = performance.now() - began;
  const frames = [];
  for (let i = 0; i < 12; i += 1) {
    drawing.camera.x += 0.5;
    const start = performance.now();
    drawing.painter.paint(1, { ...drawing.focus, isMoving: true });
    frames.push(performance.now() - start);
  }
  drawing.destroy();
  host.remove();
  return [first, frames.slice(2).sort((a, b) => a - b)[5]];
}"""


def build(path: Path) -> None:
    """A small graph with branches of many changes."""
    graph = omnigraph.create(path, SCHEMA)
    graph.load([{"type": "Doc", "data": {"title": f"d{i}", "words": i}} for i in range(1_000)])
    changes = [{"type": "Doc", "data": {"title": f"new{i}", "words": i}} for i in range(CHANGES)]
    for number in range(ROUNDS + 1):
        graph.create_branch(f"large{number}")
        graph.load(changes, branch=f"large{number}")


def show(page: Any, screen: str, **others: str) -> float:
    """Open a screen; seconds until it shows what it is for."""
    params, ready = SCREENS[screen]
    params = params | others
    began = time.perf_counter()
    page.evaluate(f"location.hash = '#/g/{screen}?{urlencode(params)}'")
    page.locator(ready).first.wait_for()
    return time.perf_counter() - began


def sizes(address: str) -> None:
    """Files of the page that a screen loads in a fresh tab."""
    print("screen | files | KB | KB sent")
    for screen in SCREENS:
        with browser_page(address) as page:
            show(page, screen)
            found = page.evaluate(RESOURCES)
            whole, sent = (sum(item[place] for item in found) / 1024 for place in (0, 1))
            print(f"{screen} | {len(found)} | {whole:.0f} | {sent:.0f}", flush=True)


def reviews(page: Any) -> None:
    """Reviews that the server has not computed before."""
    seconds = []
    for number in range(ROUNDS):
        show(page, "overview")
        seconds.append(show(page, "review", source=f"large{number + 1}"))
    print(f"review of {CHANGES:,} changes: {statistics.median(seconds):.2f} s until its picture", flush=True)


def drawings(page: Any, address: str) -> None:
    print("elements | first picture ms | frame while panning ms")
    for elements in ELEMENTS:
        runs = [page.evaluate(DRAW, [address.partition("#")[0], elements // 2]) for _ in range(ROUNDS)]
        first, frame = (statistics.median(run[place] for run in runs) for place in (0, 1))
        print(f"{elements:,} | {first:.0f} | {frame:.1f}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g.omni"
        build(path)
        with served(path) as address:
            sizes(address)
            with browser_page(address) as page:
                reviews(page)
                drawings(page, address)


if __name__ == "__main__":
    main()
