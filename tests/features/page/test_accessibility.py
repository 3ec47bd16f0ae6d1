"""Access for everyone: no serious finding of axe, keys for everything, contrast, zoom, narrow screens."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from omnigraph import Graph
from omnigraph.engine.picture.scripts import file_text
from tests.features.page.browsers import until
from tests.features.page.conftest import sign_in, visit
from tests.features.server.live import Live

PAIRS = "query pairs() { match { $p: Person  $p $e: knows $f } return { $p.name, $f.name } limit 9 }"
SCREENS: dict[str, tuple[dict[str, object], str]] = {
    "overview": ({}, ".schema text"),
    "query": ({"text": PAIRS, "run": "1", "view": "Graph"}, "[data-drawn] canvas"),
    "browse": ({"type": "Person", "id": "p7", "draw": "1", "history": "age"}, ".timeline li"),
    "history": ({"kind": "load"}, ".commits tbody tr"),
    "review": ({"source": "discussed", "target": "main"}, ".conflict"),
    "jobs": ({}, "[aria-label=Findings] summary"),
}
"""Every screen with as much on it as it can have, and what stands there when it is ready."""
SERIOUS = ("serious", "critical")


COLOUR_RULES = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules whose answers depend on the theme."""


def findings(page: Any) -> list[str]:
    """Serious findings of axe in light and in dark, with the elements that they are about."""
    found = []
    for theme, options in (("light", None), ("dark", COLOUR_RULES)):
        page.emulate_media(color_scheme=theme)
        found += [
            f"{theme}: {item['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
            for item in Axe().run(page, options=options).response["violations"]
            if item["impact"] in SERIOUS
            for node in item["nodes"]
        ]
    return found


@pytest.mark.parametrize("screen", SCREENS)
def test_no_screen_has_a_serious_barrier(page: Any, screen: str) -> None:
    params, ready = SCREENS[screen]
    visit(page, screen, **params)
    page.locator(ready).first.wait_for()
    assert findings(page) == []


def test_dialogs_and_refusals_have_no_serious_barrier(context: Any, live: Live) -> None:
    page = context.new_page()
    page.goto(f"{live.address}/ui/")
    page.get_by_label("Token").wait_for()
    assert findings(page) == []
    sign_in(page, live, "ann")
    visit(page, "browse", type="Person", id="p7")
    page.get_by_role("button", name="Edit on a branch").click()
    page.get_by_role("dialog").wait_for()
    assert findings(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("Branch or commit")).click()
    page.get_by_role("listbox").wait_for()
    assert findings(page) == []
    visit(page, "browse", type="Person", id="nope")
    page.locator(".state.error").wait_for()
    assert findings(page) == []


def test_every_screen_is_reached_and_used_by_keys_alone(page: Any) -> None:
    page.get_by_role("heading", name="Review", exact=True).wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    for key, name in (("h", "History"), ("j", "Jobs and health"), ("r", "Review"), ("o", "kb")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.get_by_role("heading", name=name, exact=True).wait_for()
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.get_by_role("row", name=re.compile("the first people")).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_label("Commit", exact=True).get_by_text("the first people").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("b")
    page.get_by_label("Entities of").locator("tbody tr").first.focus()
    page.keyboard.press("Enter")
    page.get_by_label("Entity", exact=True).wait_for()


def test_a_conflict_is_settled_and_merged_by_keys_alone(page: Any, graph: Graph) -> None:
    graph.create_branch("keyed")
    for branch, age in (("keyed", 61), ("main", 62)):
        graph.mutate(f'query q() {{ update Person set {{age: {age}}} where name = "p27" }}', branch=branch)
    visit(page, "review", source="keyed", target="main")
    page.get_by_label("source 61").focus()
    page.keyboard.press("Space")
    page.get_by_text("every conflict is settled").wait_for()
    page.get_by_label("Message").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("✓ Merged").wait_for()


def test_a_node_is_selected_opened_and_expanded_by_keys(page: Any) -> None:
    visit(page, "browse", view="picture", only="Knows")
    canvas = page.locator("[data-drawn] canvas")
    canvas.focus()
    page.keyboard.press("/")
    page.keyboard.type("p3")
    page.locator(".drawing-matches", has_text="match").wait_for()
    page.keyboard.press("Enter")
    page.locator(".drawing-details strong", has_text="p3").wait_for()
    page.get_by_role("status").get_by_text(re.compile("p3.*Person.*edges shown")).wait_for()
    canvas.focus()
    page.keyboard.press("e")
    page.get_by_role("status").get_by_text("neighbours of p3").wait_for()
    page.keyboard.press("Enter")
    page.get_by_label("Entity", exact=True).get_by_role("heading", name="p3").wait_for()


def test_no_screen_scrolls_sideways(page: Any) -> None:
    # A phone, a tablet, and a screen of 1,400 pixels with everything at 200 %.
    for screen, (params, ready) in SCREENS.items():
        visit(page, screen, **params)
        page.locator(ready).first.wait_for()
        for width, height in ((390, 800), (800, 800), (700, 400)):
            page.set_viewport_size({"width": width, "height": height})
            until(page, f"document.documentElement.scrollWidth <= {width}")


def test_colours_of_types_are_seen_on_both_grounds() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    colours = re.findall("#[0-9a-f]{6}", file_text("drawing/colours.js"))
    assert len(set(colours)) == 12
    for colour in colours:
        assert min(contrast(colour, ground) for ground in ("#ffffff", "#191c22")) >= 3, colour
