"""Roads of people through the page, in a real browser against a real server."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from omnigraph import Graph
from tests.features.page.browsers import POLL_MS, Watched, until
from tests.features.page.conftest import HOSTILE, TOKENS, address_of, enter, follow, sign_in, visit
from tests.features.server.live import Live

AGES = "query ages($name: String) {\n  match { $p: Person { name: $name } }\n  return { $p.name, $p.city }\n}"
PAIRS = "query pairs() { match { $p: Person  $p $e: knows $f } return { $p.name, $f.name } }"
FIRST_PAINT_BYTES_MAX = 130 * 1024


def commits_since(graph: Graph, branch: str) -> int:
    """Commits of main since a branch was made from it."""
    made = next(item.parent_commit for item in graph.branches() if item.name == branch)
    return [commit.id for commit in graph.commits()].index(str(made))


def editor(page: Any) -> Any:
    return page.get_by_label("Query", exact=True)


def test_the_token_leaves_the_address_and_stays_in_the_tab(tab: Any, live: Live) -> None:
    page = tab
    sign_in(page, live, "ann")
    page.get_by_label("Schema").get_by_text("Person", exact=True).first.wait_for()
    assert "token" not in address_of(page)
    assert page.evaluate("Object.keys(sessionStorage).concat(Object.keys(localStorage))") == ["omnigraph-token"]
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


def test_the_overview_shows_counts_schema_changes_and_branches_without_the_heavy_parts(
    tab: Any, live: Live, watched: Watched, graph: Graph
) -> None:
    page = tab
    sign_in(page, live, "ann")
    last = next(iter(graph.commits(limit=1)))
    page.locator(".tile", has_text="Person").get_by_text("31").wait_for()
    page.get_by_label("Schema").locator("svg text", has_text="Wrote").wait_for()
    page.get_by_label("Last changes").locator(f"a[href*='{last.id}']").wait_for()
    large = page.get_by_label("Branches").locator("li", has_text="large")
    large.get_by_text("+10,000").wait_for()
    large.get_by_text(f"ahead 1, behind {commits_since(graph, 'large')}").wait_for()
    files = {url.partition("/ui/")[2].split("#")[0] for url in watched.urls if "/ui/" in url}
    assert not files & {"vendor/editor.js", "drawing/drawing.js", "drawing/painter.js", "screens/query.js"}
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').filter(e => e.name.includes('/ui/')).map(e => e.decodedBodySize)"
    )
    assert sum(sizes) <= FIRST_PAINT_BYTES_MAX


def test_a_branch_and_a_commit_are_found_by_typing(page: Any, graph: Graph) -> None:
    page.get_by_role("button", name="Branch or commit: main").click()
    page.get_by_role("combobox", name="Find a branch or commit").fill("check")
    page.get_by_role("option", name=re.compile("^checked ahead 1, behind")).wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Branch or commit: checked").click()
    page.get_by_role("combobox", name="Find a branch or commit").fill("the first people")
    page.get_by_role("option", name=re.compile("the first people")).click()
    page.get_by_text("Nothing here changes any more").wait_for()
    first = next(commit.id for commit in graph.commits() if commit.message == "the first people")
    assert first in address_of(page)
    page.get_by_role("button", name="Back to checked").click()
    page.get_by_text("Nothing here changes any more").wait_for(state="detached")


def test_a_mistake_in_a_query_is_marked_explained_and_corrected_by_a_completion(page: Any) -> None:
    visit(page, "query", text="query q() { match { $p: Persn } return { $p.name } }")
    page.locator(".mistake").first.wait_for()
    page.get_by_label("Mistakes in the text").get_by_text("did you mean `Person`?").wait_for()
    page.get_by_label("Mistakes in the text").get_by_role("button", name="1:25").click()
    page.keyboard.type("Per")
    page.locator(".cm-tooltip-autocomplete li", has_text="Person").first.click()
    page.get_by_label("Mistakes in the text").wait_for(state="detached")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("[data-name=summary]", has_text="31 rows").wait_for()


def test_a_late_answer_about_an_earlier_text_marks_nothing(page: Any) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        if "Persn" in route.request.post_data:
            held.append(route)
        else:
            route.continue_()

    page.route("**/check", hold)
    visit(page, "query", text="query q() { match { $p: Persn } return { $p.name } }")
    while not held:
        page.wait_for_timeout(POLL_MS)
    visit(page, "query", text=PAIRS)
    page.locator("[data-name=cost]", has_text="reads up to").wait_for()
    with page.expect_response("**/check") as answered:
        for route in held:
            route.continue_()
    answered.value.finished()
    page.wait_for_timeout(POLL_MS)
    assert page.get_by_label("Mistakes in the text").count() == 0


def test_rows_are_shown_as_table_graph_plan_and_json_with_the_cost_before(page: Any) -> None:
    visit(page, "query", text=PAIRS)
    page.locator("[data-name=cost]", has_text="reads up to").wait_for()
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("[data-name=summary]", has_text="20 rows").wait_for()
    page.get_by_role("cell", name="p7").first.wait_for()
    page.get_by_role("tab", name="Graph").click()
    page.locator("[data-drawn='21'] canvas").wait_for()
    page.get_by_role("tab", name="Plan").click()
    page.locator(".plan", has_text="Project").wait_for()
    page.get_by_role("tab", name="JSON").click()
    assert len(json.loads(page.get_by_label("Rows as JSON").inner_text())) == 20


def test_a_result_is_exported_as_csv_arrow_json_and_python(page: Any, tmp_path: Path) -> None:
    visit(page, "query", text=PAIRS, run="1")
    page.locator("[data-name=summary]", has_text="20 rows").wait_for()
    saved: dict[str, Path] = {}
    for name in ("CSV", "Arrow", "JSON"):
        with page.expect_download() as waiting:
            page.get_by_label("Export").get_by_role("button", name=name).click()
        saved[name] = tmp_path / name
        waiting.value.save_as(saved[name])
    assert saved["CSV"].read_text().splitlines()[:2] == ["p.name,f.name", "p0,p1"]
    assert pa.ipc.open_stream(saved["Arrow"].read_bytes()).read_all().num_rows == 20
    assert len(json.loads(saved["JSON"].read_text())) == 20
    page.get_by_label("Export").get_by_role("button", name="Python").click()
    page.get_by_role("dialog").get_by_text("omnigraph.open").wait_for()
    compile(page.get_by_role("dialog").locator("pre").inner_text(), "<snippet>", "exec")


def test_stored_queries_and_runs_are_opened_again(page: Any) -> None:
    visit(page, "query", text=PAIRS, run="1")
    page.locator("[data-name=summary]", has_text="20 rows").wait_for()
    page.get_by_label("Stored queries").get_by_role("button", name="in_city").click()
    page.get_by_label("city String").fill("c1")
    editor(page).press("Control+Enter")
    page.get_by_label("Run before").get_by_role("button", name="in_city").wait_for()
    page.get_by_label("Run before").get_by_role("button", name="pairs").click()
    page.get_by_text("None declared").wait_for()
    page.get_by_label("Run before").get_by_role("button", name="Clear").click()
    page.get_by_label("Run before").wait_for(state="detached")


def test_a_query_is_saved_under_a_name_and_deleted(page: Any) -> None:
    visit(page, "query", text=AGES)
    page.get_by_label("name String").fill("p3")
    dialog, saved = page.get_by_role("dialog"), page.get_by_label("Saved queries")
    for name, button in (("ages of all", "Save"), ("ages", "Save"), ("ages of all", "Replace")):
        page.get_by_role("button", name="Save as…").click()
        assert dialog.get_by_label("Name").input_value() == "ages"
        dialog.get_by_label("Name").fill(name)
        dialog.get_by_role("button", name=button, exact=True).click()
        dialog.wait_for(state="detached")
    # Another visit of the same browser, at another text.
    visit(page, "query", text=PAIRS)
    page.reload()
    saved.get_by_role("button", name="Delete ages of all").wait_for()
    assert saved.get_by_role("listitem").count() == 2
    saved.get_by_role("button", name="ages", exact=True).click()
    until(page, "document.querySelector('[name=param-name]')?.value === 'p3'")
    page.on("dialog", lambda asked: asked.accept())
    saved.get_by_role("button", name="Delete ages", exact=True).click()
    saved.get_by_role("button", name="ages", exact=True).wait_for(state="detached")
    saved.get_by_role("button", name="Delete ages of all").click()
    saved.wait_for(state="detached")


def test_a_text_that_changes_something_asks_first(page: Any, graph: Graph) -> None:
    graph.create_branch("written")
    visit(page, "query", ref="written", text='query add() { insert Doc {title: "by hand"} }')
    run = page.get_by_role("button", name="Run", exact=True)
    for answer in ("dismiss", "accept"):
        page.once("dialog", lambda dialog, answer=answer: getattr(dialog, answer)())
        # The question comes after the plan; until it is answered the button has another name.
        with page.expect_event("dialog"):
            run.click()
        run.wait_for()
    page.get_by_text("changed on written").wait_for()
    assert [change.id for table in graph.diff("main", "written") for change in table] == ["by hand"]


def test_a_link_shows_the_same_rows_after_the_graph_has_changed(page: Any, graph: Graph) -> None:
    visit(page, "query", text=AGES)
    page.get_by_label("name String").fill("p5")
    editor(page).press("Control+Enter")
    page.get_by_role("cell", name="c2").wait_for()
    address = page.get_by_title("The same rows, at any time").evaluate("element => element.href")
    graph.mutate('query q() { update Person set {city: "moved"} where name = "p5" }', actor="ann")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("cell", name="moved").wait_for()
    follow(page, address)
    page.reload()
    page.get_by_role("cell", name="c2").wait_for()


def test_a_copied_link_of_a_table_names_the_commit(page: Any, graph: Graph) -> None:
    visit(page, "browse", type="Person", where=[{"column": "name", "op": "eq", "value": "p6"}])
    page.get_by_role("cell", name="c0").wait_for()
    page.get_by_role("button", name="Copy a link to this").click()
    page.get_by_text("shows the same entities at any time").wait_for()
    assert f"at={graph.snapshot().commit_id}" in address_of(page)
    graph.mutate('query q() { update Person set {city: "gone"} where name = "p6" }', actor="ann")
    page.reload()
    page.get_by_role("cell", name="c0").wait_for()


def test_a_commit_shows_its_changes_and_those_of_an_actor_are_reverted(page: Any, graph: Graph) -> None:
    graph.mutate('query q() { update Person set {age: 99} where name = "p20" }', actor="bot-9", message="wrong age")
    visit(page, "history")
    page.get_by_label("actor").select_option("bot-9")
    page.get_by_role("row", name=re.compile("wrong age")).click()
    commit = page.get_by_label("Commit", exact=True)
    commit.locator("del", has_text="40").wait_for()
    commit.locator("ins", has_text="99").wait_for()
    commit.get_by_role("button", name="Draw").click()
    commit.locator("[data-drawn] canvas").wait_for()
    page.get_by_role("button", name="Revert all of bot-9…").click()
    page.get_by_label("Message").fill("undo bot-9")
    page.get_by_role("button", name="Revert", exact=True).click()
    page.get_by_role("group", name="Revert").wait_for(state="detached")
    page.get_by_label("actor").select_option("ann")
    page.get_by_role("row", name=re.compile("undo bot-9")).wait_for()
    assert graph.query('query q() { match { $p: Person {name: "p20"} } return { $p.age } }').rows == [{"p.age": 40}]


def test_commits_are_filtered_by_kind_type_and_time(page: Any) -> None:
    visit(page, "history", kind="load", type="Doc", since="week")
    page.get_by_role("row").first.wait_for()
    assert page.locator(".commits tbody tr").count() == 1
    visit(page, "history", kind="load", type="Doc", since="week", actor="nobody-here")
    page.get_by_text("No commit matches").wait_for()


def test_two_commits_are_compared(page: Any, graph: Graph) -> None:
    commits = [commit.id for commit in graph.commits(branch="conflict")]
    visit(page, "history", commit=commits[0], base=commits[2])
    changes = page.get_by_label("Commit", exact=True)
    changes.locator("ins", has_text="west").wait_for()
    changes.locator("li", has_text="p1 → plan").wait_for()


def test_entities_are_filtered_sorted_and_know_who_set_their_values(page: Any, graph: Graph) -> None:
    graph.mutate('query q() { update Person set {age: 46} where name = "p25" }', actor="bot-8", message="a birthday")
    visit(page, "browse", type="Person")
    page.get_by_label("Column").select_option("age")
    page.get_by_label("Operator").select_option("ge")
    page.get_by_label("Value").fill("46")
    page.get_by_role("button", name="Add filter").click()
    page.locator(".chip", has_text="age ≥ 46").wait_for()
    page.get_by_role("button", name="age", exact=True).click()
    page.locator("th[aria-sort]", has_text="age").wait_for()
    page.get_by_role("row", name=re.compile("^p25 46")).dispatch_event("click")
    entity = page.get_by_label("Entity", exact=True)
    entity.locator("tr", has_text="age").filter(has_text="46").filter(has_text="bot-8").wait_for()
    entity.get_by_role("button", name="age", exact=True).click()
    entity.locator(".timeline li", has_text="a birthday").locator("del", has_text="45").wait_for()
    entity.locator(".timeline li", has_text="the first people").wait_for()
    for part in ("where=", "sort=age", "id=p25", "history=age"):
        assert part in address_of(page)


def test_an_entity_is_edited_on_a_branch_only(page: Any, graph: Graph) -> None:
    visit(page, "browse", type="Person", id="p12")
    page.get_by_role("button", name="Edit on a branch").click()
    dialog = page.get_by_role("dialog")
    choices = dialog.get_by_label("Branch").locator("option")
    choices.get_by_text("checked", exact=True).wait_for(state="attached")
    assert "main" not in choices.all_inner_texts()
    dialog.get_by_label("city").fill("Malmö")
    dialog.get_by_label("tags").fill('["x", "y"]')
    dialog.get_by_label("Message").fill("moved to Malmö")
    dialog.get_by_role("button", name="Save on the branch").click()
    page.get_by_text("Changed on edit/ann/").wait_for()
    page.get_by_role("cell", name="Malmö").first.wait_for()
    (branch,) = re.findall("edit/ann/[0-9]+", unquote(address_of(page)))
    changes = [change for table in graph.diff("main", branch) for change in table]
    assert [(change.id, sorted(change.changed)) for change in changes] == [("p12", ["city", "tags"])]
    assert next(iter(graph.commits(branch, limit=1))).message == "moved to Malmö"
    page.get_by_role("link", name=f"Review {branch}").click()
    page.get_by_role("heading", name=f"{branch} → main").wait_for()


def test_a_value_of_a_wrong_type_is_refused_and_kept_in_the_form(page: Any, watched: Watched) -> None:
    watched.expected = {400}
    visit(page, "browse", type="Person", id="p13")
    page.get_by_role("button", name="Edit on a branch").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("age I32?").fill("many")
    dialog.get_by_role("button", name="Save on the branch").click()
    dialog.get_by_role("alert").wait_for()
    assert dialog.get_by_label("age I32?").input_value() == "many"
    dialog.get_by_label("age I32?").fill("41")
    dialog.get_by_role("button", name="Save on the branch").click()
    page.get_by_text("Changed on edit/ann/").wait_for()


def test_an_entity_is_deleted_on_its_branch(page: Any, graph: Graph, watched: Watched) -> None:
    watched.expected = {404}
    graph.create_branch("pruned")
    visit(page, "browse", type="Person", id="p14", ref="pruned")
    page.get_by_role("button", name="Edit on a branch").click()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete…").click()
    page.get_by_text("Deleted on pruned.").wait_for()
    page.get_by_text("there is no Person with id 'p14'").wait_for()
    assert {change.id for change in graph.diff("main", "pruned")["Person"]} == {"p14"}


def test_a_file_is_previewed_and_loaded_and_violations_name_their_lines(page: Any, graph: Graph) -> None:
    graph.create_branch("loaded")
    visit(page, "overview", ref="loaded")
    page.get_by_role("button", name="Load data").click()
    dialog = page.get_by_role("dialog")
    wrong = {"name": "people.csv", "mimeType": "text/csv", "buffer": b"name,age\nzoe,30\nyan,old\n"}
    chosen = dialog.locator("[name=load-file]")
    chosen.set_input_files(wrong)
    assert dialog.get_by_role("button", name="Preview").is_disabled()
    dialog.get_by_label("Type").select_option("Person")
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_role("alert").get_by_text("people.csv:3").wait_for()
    right = {**wrong, "buffer": b"name,age\nzoe,30\nyan,31\np1,32\n"}
    chosen.set_input_files(right)
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_label("Preview").get_by_text("+2").wait_for()
    dialog.get_by_label("Preview").get_by_text("~1").wait_for()
    assert [change.id for table in graph.diff("main", "loaded") for change in table] == []
    dialog.get_by_role("button", name="Load into loaded").click()
    dialog.get_by_text("✓ Loaded into loaded").wait_for()
    assert {change.id for change in graph.diff("main", "loaded")["Person"]} == {"zoe", "yan", "p1"}
    dialog.get_by_role("button", name="Close").click()
    page.locator(".tile", has_text="Person").get_by_text("33").wait_for()


def test_text_of_the_graph_is_never_markup(page: Any) -> None:
    visit(page, "browse", type="Person", id=HOSTILE)
    page.get_by_role("heading", name=HOSTILE).wait_for()
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "taken"


def test_maintenance_runs_as_a_job_and_findings_have_advice(page: Any, graph: Graph) -> None:
    visit(page, "jobs")
    page.get_by_label("Findings").get_by_text("without remarks").wait_for()
    page.get_by_role("button", name="Verify").click()
    page.get_by_label("Jobs", exact=True).locator("li", has_text="verify").get_by_text("succeeded").first.wait_for()


def test_the_theme_is_chosen_and_kept(page: Any) -> None:
    before = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_role("button", name="Light or dark").click()
    until(page, "before => getComputedStyle(document.documentElement).backgroundColor !== before", before)
    page.reload()
    page.locator(".actor").wait_for()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != before


def test_a_link_that_was_cut_still_opens(page: Any) -> None:
    # Each leads to another screen than the one before, so the heading is that of the link.
    for broken, heading in (
        ("browse?type=Person&where=%5B%7B", "Person"),
        ("%E4%BD", "kb"),
        ("query?params=%7B%22a", "Query"),
        ("nowhere", "kb"),
    ):
        follow(page, f"#/kb/{broken}")
        page.get_by_role("heading", name=heading, exact=True, level=1).wait_for(state="attached")


def test_a_reader_sees_the_review_and_may_not_merge(context: Any, live: Live) -> None:
    page = context.new_page()
    enter(page, live, "bob")
    visit(page, "review", source="large", target="main")
    page.get_by_role("button", name="Merge into main").click()
    page.locator(".denied", has_text="Not allowed").wait_for()
    page.get_by_role("button", name="Save review").click()
    page.get_by_label("Comments").locator(".denied").wait_for()
    visit(page, "jobs")
    page.get_by_label("Findings").locator(".denied").wait_for()


def test_an_actor_without_rights_sees_no_graph(context: Any, live: Live) -> None:
    page = context.new_page()
    sign_in(page, live, "eve")
    page.get_by_text("This token may not read any graph").wait_for()
    visit(page, "overview")
    page.locator(".denied", has_text="Not allowed").first.wait_for()


def test_the_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back(context: Any, live: Live) -> None:
    page = context.new_page()
    enter(page, live, "ann")
    page.get_by_role("heading", name="Review", exact=True).wait_for()
    context.set_offline(True)
    visit(page, "browse", type="Doc", ref="large")
    page.get_by_text("Trying again…").wait_for()
    context.set_offline(False)
    page.get_by_text("Trying again…").wait_for(state="detached")
    page.locator("[data-name=count]", has_text="of 10,000").wait_for()
