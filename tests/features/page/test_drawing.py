"""The drawing in a real browser: modules one by one, pictures that are moved and expanded, saved pictures."""

import re
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from tests.features.page.browsers import COLOURS, Watched, until
from tests.features.page.conftest import address_of, visit
from tests.features.server.live import Live

UNITS = Path(__file__).with_name("units.js").read_text(encoding="utf-8")
NAMES = re.findall(r"^  async (\w+)\(", UNITS, re.MULTILINE)
MODULES = (
    "drawing/raster.js",
    "drawing/shapes.js",
    "drawing/model.js",
    "drawing/camera.js",
    "drawing/layout.js",
    "drawing/picking.js",
    "state.js",
    "parts/values.js",
    "parts/export.js",
    "parts/conflicts.js",
    "parts/lanes.js",
    "parts/schema_layout.js",
    "parts/schema_changes.js",
)


@pytest.fixture(scope="module")
def found(browser: Any, live: Live) -> dict[str, list[Any]]:
    """What every test of a module found, beside what it expected: run in one page."""
    page = browser.new_page()
    page.goto(f"{live.address}/ui/")
    imports = ", ".join(f"import('{live.address}/ui/{name}')" for name in MODULES)
    text = UNITS.partition("*/")[2].strip().removesuffix(";")
    results: dict[str, list[Any]] = page.evaluate(
        f"""async () => {{
          const parts = Object.assign({{}}, ...(await Promise.all([{imports}])));
          const results = {{}};
          for (const [name, test] of Object.entries({text})) results[name] = await test(parts);
          return results;
        }}"""
    )
    page.close()
    return results


@pytest.mark.parametrize("name", NAMES)
def test_a_module_of_the_page_does_what_its_test_says(found: dict[str, list[Any]], name: str) -> None:
    values = found[name]
    assert values[::2] == values[1::2]


def settled(canvas: Any) -> str:
    """What a canvas shows when nothing is painted any more: the same in two frames."""
    return str(
        canvas.evaluate(
            """async (canvas) => {
              const frame = () => new Promise((done) => requestAnimationFrame(done));
              let [before, shown] = ["", canvas.toDataURL()];
              while (shown !== before) {
                await frame();
                await frame();
                [before, shown] = [shown, canvas.toDataURL()];
              }
              return shown;
            }"""
        )
    )


def changed(page: Any, before: str) -> None:
    """Wait until the canvas shows something else."""
    until(page, "before => document.querySelector('[data-drawn] canvas').toDataURL() !== before", before)


def test_a_picture_is_expanded_panned_zoomed_and_filtered(page: Any) -> None:
    visit(page, "browse", type="Person", id="p7", draw="1")
    drawing = page.get_by_label("Entity", exact=True).locator("[data-drawn]")
    canvas = drawing.locator("canvas")
    canvas.wait_for()
    assert drawing.get_attribute("data-drawn") == "3"
    canvas.focus()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    drawing.get_by_role("button", name="Expand").click()
    until(page, "document.querySelector('[data-drawn]').dataset.drawn > 3")
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 60)
    before = settled(canvas)
    page.mouse.down()
    page.mouse.move(box["x"] + 80, box["y"] + 90)
    page.mouse.up()
    changed(page, before)
    before = settled(canvas)
    page.mouse.wheel(0, -300)
    changed(page, before)
    drawing.get_by_role("button", name="Knows", pressed=True).click()
    drawing.get_by_role("button", name="Knows", pressed=False).wait_for()


def test_the_server_decides_what_is_drawn_and_says_so(page: Any) -> None:
    visit(page, "browse", view="picture", ref="large")
    page.get_by_text(re.compile(r"300 of 10,\d+ nodes")).wait_for()
    page.get_by_role("button", name="Show up to 1,000").click()
    page.locator("[data-drawn='1000'] canvas").wait_for()
    assert "sample=1000" in address_of(page)


def test_a_drawing_of_many_elements_leaves_edges_out_while_it_moves(page: Any, live: Live) -> None:
    colours = page.evaluate(
        f"""async () => {{
          const {{ Drawing }} = await import("{live.address}/ui/drawing/drawing.js");
          const host = document.body.appendChild(document.createElement("div"));
          Object.assign(host.style, {{ position: "fixed", inset: "0" }});
          const place = (i) => ({{ x: Math.sqrt(i) * Math.cos(i * 2.4), y: Math.sqrt(i) * Math.sin(i * 2.4) }});
          const node = (i) => ({{ key: String(i), type: "T", label: "", ...place(i) }});
          const edge = (i) => ({{ source: String(i), target: String(i * 7 % 4000), type: "E" }});
          const nodes = Array.from({{ length: 4000 }}, (_, i) => node(i));
          const edges = nodes.map((_, i) => edge(i));
          const drawing = new Drawing(host, {{ nodes, edges }}, {{ label: "many" }});
          await new Promise((resolve) => setTimeout(resolve, 50));
          drawing.painter.isSlow = true;
          const count = {COLOURS};
          const seen = [true, false].map((isMoving) => {{
            drawing.painter.paint(1, {{ ...drawing.focus, isMoving }});
            return count(drawing.canvas);
          }});
          drawing.destroy();
          host.remove();
          return seen;
        }}"""
    )
    moving, still = colours
    assert moving < still


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_saved_pictures_of_graphs_results_diffs_and_previews_are_drawn(
    new_context: Any, graph: Graph, tmp_path: Path, theme: str
) -> None:
    page, watched = new_context(color_scheme=theme, offline=True).new_page(), Watched()
    watched.watch(page)
    pictures = {
        "graph": graph.draw("Knows"),
        "result": graph.query("query q() { match { $p: Person  $p knows $f } return { $p, $f } limit 5 }").draw(),
        "diff": graph.diff("main", "discussed").draw(),
        "preview": graph.merge_preview("discussed").draw(),
        "types": graph.merge_preview("large").draw(),
    }
    for name, picture in pictures.items():
        picture.save(tmp_path / f"{name}.html")
        page.goto((tmp_path / f"{name}.html").as_uri())
        page.locator("[data-drawn] canvas").wait_for()
        until(page, f"({COLOURS})(document.querySelector('[data-drawn] canvas')) > 5")
    assert (watched.errors, watched.hosts()) == ([], set())
