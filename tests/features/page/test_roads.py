"""Roads of people through the page, in a real browser against a real server."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from omnigraph import Graph
from tests.features.page.browsers import Watched, chromium
from tests.features.page.conftest import HOSTILE, TOKENS, hash_of
from tests.features.server.live import Live

AGES = "query ages($name: String) {\n  match { $p: Person { name: $name } }\n  return { $p.name, $p.city }\n}"
PAIRS = "query pairs() { match { $p: Person  $p $e: knows $f } return { $p.name, $f.name } }"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 820}, reduced_motion="reduce")
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def page(context: Any, live: Live, watched: Watched) -> Iterator[Any]:
    """A page whose person is ann. No error is printed, and no other host is asked."""
    page = context.new_page()
    watched.watch(page)
    sign_in(page, live, "ann")
    yield page
    assert watched.errors == []
    assert watched.hosts() == {live.address.removeprefix("http://")}


def sign_in(page: Any, live: Live, actor: str) -> None:
    """Open the page as ``omnigraph ui`` does, with the token in the fragment."""
    page.goto(f"{live.address}/ui/#token={TOKENS[actor]}")
    page.locator(".actor", has_text=actor).wait_for()


def visit(page: Any, screen: str, **params: object) -> None:
    page.evaluate("hash => { location.hash = hash }", hash_of(screen, **params))


def editor(page: Any) -> Any:
    return page.get_by_label("Query", exact=True)


def test_the_token_leaves_the_address_and_stays_in_the_tab(page: Any) -> None:
    page.get_by_label("Schema").get_by_text("Person", exact=True).first.wait_for()
    assert "token" not in page.url
    assert page.evaluate("sessionStorage.length + localStorage.length") == 1
    page.reload()
    page.locator(".actor", has_text="ann").wait_for()


def test_a_server_with_tokens_asks_for_one(context: Any, live: Live) -> None:
    page = context.new_page()
    page.goto(f"{live.address}/ui/")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").get_by_text("does not accept this token").wait_for()
    page.get_by_label("Token").fill(TOKENS["ann"])
    page.get_by_role("button", name="Sign in").click()
    page.locator(".actor", has_text="ann").wait_for()


def test_the_overview_shows_counts_schema_changes_and_branches_without_the_heavy_libraries(
    page: Any, watched: Watched
) -> None:
    page.locator(".tile", has_text="Person").get_by_text("31").wait_for()
    page.get_by_label("Schema").locator("svg text", has_text="Wrote").wait_for()
    page.get_by_label("Last changes").get_by_text("the first people").wait_for()
    page.get_by_label("Branches").locator("li", has_text="large").get_by_text("+2,000").wait_for()
    assert not [url for url in watched.urls if url.endswith(("editor.js", "graph.js"))]


def test_a_mistake_in_a_query_is_marked_and_corrected_by_a_completion(page: Any) -> None:
    visit(page, "query", text="query q() { match { $p: Persn } return { $p.name } }")
    page.locator(".cm-lintRange-error").first.wait_for()
    page.locator(".cm-lintRange-error").first.dblclick()
    page.keyboard.press("Delete")
    page.keyboard.type("Per")
    page.locator(".cm-tooltip-autocomplete li", has_text="Person").first.click()
    page.locator(".cm-lintRange-error").first.wait_for(state="detached")
    page.get_by_role("button", name="Run").click()
    page.locator("[data-name=summary]", has_text="31 rows").wait_for()


def test_rows_are_shown_as_table_graph_plan_and_json(page: Any) -> None:
    visit(page, "query", text=PAIRS, run="1")
    page.locator("[data-name=summary]", has_text="20 rows").wait_for()
    page.get_by_role("cell", name="p7").first.wait_for()
    page.get_by_role("tab", name="Graph").click()
    page.locator("[data-drawn='21'] canvas").first.wait_for()
    page.get_by_role("tab", name="Plan").click()
    page.locator(".plan", has_text="Project").wait_for()
    page.get_by_role("tab", name="JSON").click()
    assert len(json.loads(page.locator("pre.card").inner_text())) == 20
    page.locator("[data-name=cost]", has_text="rows stored").wait_for()


def test_a_link_shows_the_same_rows_after_the_graph_has_changed(page: Any, graph: Graph, context: Any) -> None:
    visit(page, "query", text=AGES)
    page.get_by_label("name: String").fill("p5")
    editor(page).press("Control+Enter")
    page.get_by_role("cell", name="c2").wait_for()
    link = page.get_by_title("The same rows, at any time")
    address = link.evaluate("element => element.href")
    graph.mutate('query q() { update Person set {city: "moved"} where name = "p5" }', actor="ann")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("cell", name="moved").wait_for()
    page.evaluate("address => { location.href = address }", address)
    page.reload()
    page.get_by_role("cell", name="c2").wait_for()


def test_a_commit_shows_its_changes_and_those_of_an_actor_are_reverted(page: Any, graph: Graph) -> None:
    graph.mutate('query q() { update Person set {age: 99} where name = "p20" }', actor="bot-9", message="wrong age")
    visit(page, "history")
    page.get_by_label("actor").select_option("bot-9")
    page.get_by_role("row", name=re.compile("wrong age")).click()
    commit = page.get_by_label("Commit", exact=True)
    commit.locator("del", has_text="40").wait_for()
    commit.locator("ins", has_text="99").wait_for()
    page.get_by_role("button", name="Revert all of bot-9…").click()
    page.get_by_label("Message").fill("undo bot-9")
    page.get_by_role("button", name="Revert", exact=True).click()
    page.get_by_label("actor").select_option("ann")
    page.get_by_role("row", name=re.compile("undo bot-9")).wait_for()
    assert graph.query('query q() { match { $p: Person {name: "p20"} } return { $p.age } }').rows == [{"p.age": 40}]


def test_two_commits_are_compared(page: Any, graph: Graph) -> None:
    commits = [commit.id for commit in graph.commits(branch="conflict")]
    visit(page, "history", commit=commits[0], base=commits[2])
    changes = page.get_by_label("Commit", exact=True)
    changes.locator("ins", has_text="west").wait_for()
    changes.locator("li", has_text="p1 → plan").wait_for()


def test_a_conflict_is_settled_and_merged(page: Any, graph: Graph) -> None:
    visit(page, "review", source="conflict", target="main")
    picture = page.get_by_label("Change as a graph")
    picture.locator("g.node.plus", has_text="plan").wait_for()
    picture.locator("g.node.clash", has_text="p2").wait_for()
    picture.locator("g.edge.plus", has_text="+Wrote").wait_for()
    merge = page.get_by_role("button", name="Merge into main")
    page.locator("[data-name=blocks]", has_text="1 conflict is open").wait_for()
    assert merge.is_disabled()
    page.get_by_label("source west").check()
    page.get_by_text("every conflict is settled").wait_for()
    page.get_by_label("Message").fill("the plan")
    merge.click()
    page.get_by_text("✓ Merged").wait_for()
    assert next(iter(graph.commits(limit=1))).message == "the plan"
    assert graph.query('query q() { match { $p: Person {name: "p2"} } return { $p.city } }').rows == [
        {"p.city": "west"}
    ]


def test_a_check_that_finds_rows_holds_a_merge_back(page: Any) -> None:
    visit(page, "review", source="checked", target="main")
    page.get_by_label("Checks").locator("li", has_text="check_no_draft returned 1 rows").wait_for()
    assert page.get_by_role("button", name="Merge into main").is_disabled()


def test_a_large_change_is_drawn_by_type(page: Any) -> None:
    visit(page, "review", source="large", target="main")
    page.get_by_label("Change as a graph").locator("g.node", has_text="+2,000").wait_for()
    page.get_by_text("300 of 2,000 shown").wait_for()


def test_entities_are_filtered_sorted_and_know_who_set_their_values(page: Any) -> None:
    visit(page, "browse", type="Person")
    page.get_by_label("Column").select_option("age")
    page.get_by_label("Operator").select_option("ge")
    page.get_by_label("Value").fill("45")
    page.get_by_role("button", name="Add filter").click()
    page.locator(".chip", has_text="age ≥ 45").wait_for()
    page.get_by_role("button", name="age", exact=True).click()
    page.locator("th[aria-sort]", has_text="age").wait_for()
    page.locator("tbody tr").first.get_by_text("p25").first.wait_for()
    # The table may still move under the pointer.
    page.get_by_role("row", name="p25 p25 45 c1").dispatch_event("click")
    entity = page.get_by_label("Entity", exact=True)
    entity.locator("tr", has_text="age").filter(has_text="45").filter(has_text="ann").wait_for()
    assert "where=" in page.url
    assert "sort=age" in page.url


def test_text_of_the_graph_is_never_markup(page: Any) -> None:
    visit(page, "browse", type="Person", id=HOSTILE)
    page.get_by_role("heading", name=HOSTILE).wait_for()
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "taken"


def test_neighbours_and_samples_are_drawn(page: Any) -> None:
    visit(page, "browse", type="Person", id="p7")
    page.get_by_label("Entity", exact=True).get_by_role("link", name="p8").wait_for()
    page.get_by_role("button", name="As a picture").click()
    page.locator("[data-drawn] canvas").first.wait_for()
    page.get_by_text(re.compile(r"\d+ of \d+ nodes")).wait_for()


def test_maintenance_runs_as_a_job(page: Any) -> None:
    visit(page, "jobs")
    page.get_by_label("Health").get_by_text("● ready").wait_for()
    page.get_by_role("button", name="Verify").click()
    page.get_by_label("Jobs", exact=True).locator("li", has_text="succeeded").wait_for()


def test_screens_are_reached_by_keys(page: Any) -> None:
    page.get_by_label("Schema").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.get_by_role("heading", name="History").wait_for()
    page.get_by_role("row", name=re.compile("the first people")).focus()
    page.keyboard.press("Enter")
    page.get_by_label("Commit", exact=True).get_by_text("the first people").wait_for()


def test_the_theme_is_chosen_and_kept(page: Any) -> None:
    before = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_role("button", name="Light or dark").click()
    page.wait_for_function(
        "before => getComputedStyle(document.documentElement).backgroundColor !== before", arg=before
    )
    page.reload()
    page.locator(".actor").wait_for()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != before


def test_narrow_screens_do_not_scroll_sideways(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for screen in ("overview", "query", "browse", "history", "review", "jobs"):
        visit(page, screen)
        page.locator("main h1").first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, screen


def test_a_reader_sees_the_review_and_may_not_merge(context: Any, live: Live) -> None:
    page = context.new_page()
    sign_in(page, live, "bob")
    visit(page, "review", source="large", target="main")
    page.get_by_role("button", name="Merge into main").click()
    page.locator(".denied", has_text="Not allowed").wait_for()


def test_an_actor_without_rights_sees_no_graph(context: Any, live: Live) -> None:
    page = context.new_page()
    sign_in(page, live, "eve")
    page.get_by_text("This token may not read any graph").wait_for()
    visit(page, "overview")
    page.locator(".denied", has_text="Not allowed").wait_for()


def test_the_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back(context: Any, live: Live) -> None:
    page = context.new_page()
    sign_in(page, live, "ann")
    page.get_by_label("Schema").wait_for()
    context.set_offline(True)
    visit(page, "overview", ref="large")
    page.get_by_text("Trying again…").wait_for()
    context.set_offline(False)
    page.get_by_text("Trying again…").wait_for(state="detached")
    page.locator(".tile", has_text="Doc").get_by_text("2,000").wait_for()
