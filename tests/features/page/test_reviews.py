"""Reviews in the page: pictures of changes, conflicts settled four ways, checks, comments, merges, large changes."""

import re
from typing import Any

from omnigraph import Graph
from tests.features.page.browsers import Watched, until
from tests.features.page.conftest import LARGE, SCHEMA, address_of, enter, follow, visit
from tests.features.server.live import Live

REVIEW_BYTES_MAX = 60_000
"""Bytes of all answers for a review, whatever the size of the change."""


def city(graph: Graph, name: str, branch: str = "main") -> Any:
    text = "query q($n: String) { match { $p: Person {name: $n} } return { $p.city } }"
    return graph.query(text, {"n": name}, branch=branch).rows[0]["p.city"]


def diverged(graph: Graph, name: str, *people: str) -> str:
    """A branch that disagrees with main about the cities of some people."""
    graph.create_branch(name)
    for branch, value in ((name, "west"), ("main", "east")):
        for person in people:
            text = "query q($n: String, $c: String) { update Person set {city: $c} where name = $n }"
            graph.mutate(text, {"n": person, "c": value}, branch=branch)
    return name


def test_a_conflict_is_settled_and_merged(page: Any, graph: Graph) -> None:
    visit(page, "review", source="conflict", target="main")
    picture = page.get_by_label("Change as a graph")
    picture.locator("[data-drawn] canvas").wait_for()
    picture.get_by_role("button", name="As a table").click()
    rows = picture.get_by_label("The picture as a table").locator("tbody tr")
    rows.first.wait_for()
    assert {"! Person\tp2", "+ Doc\tplan", "p1\t+ Wrote\tplan"} <= set(rows.all_inner_texts())
    merge = page.get_by_role("button", name="Merge into main")
    page.locator("[data-name=blocks]", has_text="1 conflict is open").wait_for()
    assert merge.is_disabled()
    page.get_by_label("source west").check()
    page.get_by_text("every conflict is settled").wait_for()
    page.get_by_label("Message").fill("the plan")
    merge.click()
    page.get_by_text("✓ Merged").wait_for()
    assert next(iter(graph.commits(limit=1))).message == "the plan"
    assert city(graph, "p2") == "west"


def test_a_choice_is_kept_that_is_made_as_soon_as_it_can_be(page: Any) -> None:
    # Before anything that the page does after its first picture of the review.
    page.evaluate(
        """() => new MutationObserver((_, observer) => {
          const choice = document.querySelector(".conflict input[type=radio]");
          if (choice) observer.disconnect(), choice.click();
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    visit(page, "review", source="discussed", target="main")
    page.get_by_text("every conflict is settled").wait_for()
    page.get_by_label("source west").and_(page.locator(":checked")).wait_for()


def test_conflicts_are_settled_by_a_value_and_by_a_rule_for_all_that_are_alike(page: Any, graph: Graph) -> None:
    branch = diverged(graph, "ruled", "p15", "p16", "p17")
    visit(page, "review", source=branch, target="main")
    page.get_by_label("Value for Person/p15/city").fill("south")
    page.get_by_role("group", name=re.compile("p16")).get_by_label("source west").check()
    page.get_by_role("button", name="source for all 3 of Person.city").click()
    page.get_by_text("every conflict is settled").wait_for()
    page.get_by_label("Value for Person/p15/city").fill("south")
    page.get_by_role("group", name=re.compile("p17")).get_by_label("target east").check()
    page.get_by_role("button", name="Merge into main").click()
    page.get_by_text("✓ Merged").wait_for()
    assert [city(graph, name) for name in ("p15", "p16", "p17")] == ["south", "west", "east"]


def test_a_saved_review_keeps_choices_and_comments_and_is_computed_again_when_a_head_moves(
    page: Any, graph: Graph, new_context: Any, live: Live
) -> None:
    branch = diverged(graph, "talked", "p21", "p22")
    visit(page, "review", source=branch, target="main")
    page.get_by_role("group", name=re.compile("p21")).get_by_label("source west").check()
    page.get_by_role("group", name=re.compile("p22")).get_by_label("target east").check()
    page.get_by_label("Changes").get_by_role("button", name="p21").click()
    page.get_by_label("Comment", exact=True).fill("is <b>west</b> right?")
    page.get_by_role("button", name="Comment", exact=True).click()
    comment = page.get_by_label("Comments").locator(".comment")
    comment.get_by_text("is <b>west</b> right?").wait_for()
    comment.get_by_text("Person p21").wait_for()
    until(page, "location.hash.includes('saved=')")
    # Another person, with the same link, after a branch has moved and one of the values with it.
    graph.mutate('query q() { update Person set {city: "far"} where name = "p22" }', branch=branch)
    other = new_context().new_page()
    enter(other, live, "ann")
    follow(other, address_of(page))
    other.get_by_text("1 choice no longer fit and was dropped").wait_for()
    assert other.get_by_role("group", name=re.compile("p21")).get_by_label("source west").is_checked()
    assert not other.get_by_role("group", name=re.compile("p22")).get_by_label("target east").is_checked()
    other.get_by_label("Comments").get_by_text("earlier heads").wait_for()
    other.get_by_role("group", name=re.compile("p22")).get_by_label("source far").check()
    other.get_by_role("button", name="Merge into main").click()
    other.get_by_text("✓ Merged").wait_for()
    visit(other, "review")
    other.get_by_label("Saved reviews").locator("li", has_text="talked").get_by_text("merged").wait_for()
    assert (city(graph, "p21"), city(graph, "p22")) == ("west", "far")


def test_a_head_that_moved_after_the_preview_merges_nothing(page: Any, graph: Graph, watched: Watched) -> None:
    watched.expected = {412}
    graph.create_branch("racing")
    graph.mutate('query q() { update Person set {age: 1} where name = "p23" }', branch="racing")
    visit(page, "review", source="racing", target="main")
    page.get_by_role("heading", name="racing → main").wait_for()
    graph.mutate('query q() { update Person set {age: 2} where name = "p24" }', branch="racing")
    page.get_by_role("button", name="Merge into main").click()
    page.get_by_text("nothing was merged").wait_for()
    page.get_by_role("button", name="Compute again").click()
    page.get_by_label("Changes").get_by_text("p24").wait_for()
    page.get_by_role("button", name="Merge into main").click()
    page.get_by_text("✓ Merged").wait_for()


def test_a_check_that_finds_rows_holds_a_merge_back(page: Any) -> None:
    visit(page, "review", source="checked", target="main")
    page.get_by_label("Checks").locator("li", has_text="check_no_draft returned 1 row").wait_for()
    assert page.get_by_role("button", name="Merge into main").is_disabled()


def test_a_broken_constraint_is_listed_settled_by_a_deletion_and_merged(page: Any, graph: Graph) -> None:
    graph.mutate('query q() { insert Doc {title: "short-lived"} }')
    graph.create_branch("dangling")
    graph.mutate('query q() { insert Wrote {from: "p1", to: "short-lived"} }', branch="dangling")
    graph.mutate('query q() { delete Doc where title = "short-lived" }')
    visit(page, "review", source="dangling", target="main")
    checks = page.get_by_label("Checks")
    checks.get_by_text("1 constraint is broken").wait_for()
    checks.get_by_text("'short-lived' not found in Doc").wait_for()
    checks.get_by_text("schema unchanged").wait_for()
    merge = page.get_by_role("button", name="Merge into main")
    assert merge.is_disabled()
    page.get_by_label("delete the edge").check()
    checks.get_by_text("constraints hold").wait_for()
    page.get_by_role("button", name="Save review").click()
    page.get_by_label("Comments").get_by_text("saved by ann").wait_for()
    page.reload()
    page.get_by_label("delete the edge").and_(page.locator(":checked")).wait_for()
    merge.click()
    page.get_by_text("✓ Merged").wait_for()
    assert graph.merge_preview("dangling").outcome.value == "already_up_to_date"


def test_changes_of_the_schema_are_named_and_schemas_that_conflict_stop_a_review(
    page: Any, graph: Graph, watched: Watched
) -> None:
    watched.expected = {409}
    for name, addition in (("paged", "pages: I64?"), ("texts", "pages: String?")):
        graph.create_branch(name)
        graph.apply_schema(SCHEMA.replace("length: I64?", f"length: I64?  {addition}"), branch=name)
    visit(page, "review", source="paged", target="main")
    page.get_by_label("Checks").get_by_text("+ Doc.pages (I64?)").wait_for()
    visit(page, "review", source="paged", target="texts")
    page.get_by_role("heading", name="paged → texts").wait_for()
    page.get_by_label("Checks").get_by_text("the schemas conflict").wait_for()


def test_a_large_change_is_drawn_by_type_listed_in_pages_and_costs_as_little_as_a_small_one(
    page: Any, watched: Watched
) -> None:
    before = len(watched.urls)
    visit(page, "review", source="large", target="main")
    picture = page.get_by_label("Change as a graph")
    picture.locator("[data-drawn='1'] canvas").wait_for()
    page.get_by_role("heading", name=f"{LARGE:,} changes").wait_for()
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').filter(e => e.name.includes('/graphs/')).map(e => e.decodedBodySize)"
    )
    assert sum(sizes) < REVIEW_BYTES_MAX
    assert not [url for url in watched.urls[before:] if "/diff?" in url and "summary=true" not in url]
    page.get_by_label("Changes").get_by_text("Doc").click()
    page.get_by_text(f"100 of {LARGE:,} shown").wait_for()
    page.get_by_role("button", name="Show more").click()
    page.get_by_text(f"200 of {LARGE:,} shown").wait_for()
    picture.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    picture.locator("[data-drawn='2000'] canvas").wait_for()
    picture.get_by_role("button", name="All types").click()
    picture.locator("[data-drawn='1'] canvas").wait_for()
