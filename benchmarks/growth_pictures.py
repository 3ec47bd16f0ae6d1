"""Pictures of growth curves: plain SVG with logarithmic axes, readable on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).parent.parent / "docs" / "images"

WIDTH, HEIGHT = 680, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 215, 44, 48

STYLE = """
text { font: 12px sans-serif; fill: #3b3f46 } .title { font-size: 14px; font-weight: bold }
.axis { stroke: #8a8f98 } .grid { stroke: #d9dce1 } path { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #d5d8dd } .grid { stroke: #3b4048 } }
"""
COLOURS = ("#3a78d4", "#d0722a", "#2f9d63", "#a65bc4")
"""Of similar lightness, with enough contrast to white and to black."""


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis from one power of ten to another."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float) -> Axis:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low, max(high, low + 1), start, end)

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> Iterator[tuple[str, float]]:
        for power in range(self.low, self.high + 1):
            yield f"{10.0**power:,.{max(0, -power)}f}", self.at(10.0**power)


def picture(title: str, across: str, xs: Sequence[float], curves: Mapping[str, Sequence[float]]) -> str:
    """A line for each curve, named at the right with its last value."""
    x = Axis.of(xs, LEFT, WIDTH - RIGHT)
    y = Axis.of([value for values in curves.values() for value in values], HEIGHT - BOTTOM, TOP)
    parts = [f'<text class="title" x="{LEFT}" y="22">{title}</text>']
    for label, at in y.ticks():
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4}" text-anchor="end">{label}</text>')
    for label, at in x.ticks():
        parts.append(f'<line class="axis" x1="{at}" x2="{at}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 5}"/>')
        parts.append(f'<text x="{at}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{label}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{across}</text>')
    labels = dict(zip(curves, _apart([y.at(values[-1]) for values in curves.values()]), strict=True))
    for colour, (name, values) in zip(COLOURS, curves.items(), strict=False):
        points = [(x.at(at), y.at(value)) for at, value in zip(xs, values, strict=False)]
        line = "M" + " L".join(f"{across} {up}" for across, up in points)
        parts.append(f'<path d="{line}" stroke="{colour}"/>')
        parts += [f'<circle cx="{across}" cy="{up}" r="3.5" fill="{colour}"/>' for across, up in points]
        end = points[-1][0]
        parts.append(f'<circle cx="{end + 14}" cy="{labels[name]}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{end + 24}" y="{labels[name] + 4}">{name}: {values[-1]:.3g}</text>')
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    return "\n".join([frame, f"<title>{title}</title>", f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def _apart(heights: Sequence[float], least: float = 18.0) -> list[float]:
    """The heights of labels, moved so that none covers another one."""
    order = sorted(range(len(heights)), key=lambda number: heights[number])
    placed = list(heights)
    for before, number in pairwise(order):
        placed[number] = max(placed[number], placed[before] + least)
    below = placed[order[-1]] - (HEIGHT - BOTTOM)
    return [height - max(0.0, below) for height in placed]


def draw(found: Mapping[str, Any]) -> None:
    titles = {
        "history milliseconds": ("Processor milliseconds as the history grows", "commits", "commits before"),
        "history requests": ("Requests to a bucket as the history grows", "commits", "commits before"),
        "data milliseconds": ("Processor milliseconds as the data grows", "people", "nodes, and twice as many edges"),
        "data requests": ("Requests to a bucket as the data grows", "people", "nodes, and twice as many edges"),
    }
    for name, (title, scale, across) in titles.items():
        if name not in found:
            continue
        text = picture(title, across, found[scale], found[name])
        (IMAGES / f"growth-{name.replace(' ', '-')}.svg").write_text(text)
    if "memory" not in found:
        return
    megabytes = {"resident MiB": [held / 2**20 for _, held in found["memory"]]}
    title = "Memory of a process that only writes"
    text = picture(title, "commits made", [made for made, _ in found["memory"]], megabytes)
    (IMAGES / "growth-memory.svg").write_text(text)
