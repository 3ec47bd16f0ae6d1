"""Takes the pictures of the page that the README shows, from the page itself.

    python -m docs.screenshots              # writes docs/images
    python -m docs.screenshots DIRECTORY    # every screen in light, dark and narrow, to look at; names may follow

The graph is the knowledge base of a small company whose agent proposes changes on a branch.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.page_browser import browser_page, served

import omnigraph
from omnigraph import Graph

IMAGES = Path(__file__).parent / "images"
SIZE = {"width": 1280, "height": 800}
KINDS = {"light": ("light", SIZE), "dark": ("dark", SIZE), "narrow": ("light", {"width": 390, "height": 844})}
SETTLED_MS = 400
SCHEMA = """
node Person { name: String @key  role: String?  city: String?  joined: Date? }
node Team { name: String @key }
node Project { name: String @key  status: enum(idea, active, done)  budget: I64? }
node Document { title: String @key  summary: String?  words: I32? }
node Topic { name: String @key }
edge MemberOf: Person -> Team
edge WorksOn: Person -> Project
edge Reports: Person -> Person
edge Wrote: Person -> Document
edge About: Document -> Topic
edge Needs: Project -> Topic
"""
PEOPLE = """Ada Lovelace,Grace Hopper,Alan Turing,Katherine Johnson,Edsger Dijkstra,Barbara Liskov,Donald Knuth,
Radia Perlman,Tony Hoare,Frances Allen,Ken Thompson,Margaret Hamilton,Leslie Lamport,Shafi Goldwasser,Dennis Ritchie,
Adele Goldberg,John Backus,Mary Shaw,Niklaus Wirth,Jean Bartik,Robin Milner,Lynn Conway,Vint Cerf,Hedy Lamarr"""
TOPICS = ("storage", "search", "merging", "planning", "graphs", "vectors", "policies", "streaming")
TEAMS = ("Engine", "Language", "Platform")
PROJECTS = ("Branches", "Hybrid ranking", "Lakehouse", "Agents", "Reviews")
CITIES = ("Lisbon", "Oslo", "Turin", "Ghent")
ROLES = ("engineer", "researcher", "designer", "lead")
TOGETHER = """query together($topic: String) {
  match {
    $t: Topic { name: $topic }
    $d: Document
    $d $a: about $t
    $p: Person
    $p $w: wrote $d
  }
  return { $p.name, $p.city, $d.title, $d.words, $t.name }
  order { $d.words desc }
}"""


def node(type_name: str, **data: object) -> dict[str, object]:
    return {"type": type_name, "data": data}


def edge(type_name: str, source: str, target: str) -> dict[str, object]:
    return {"edge": type_name, "from": source, "to": target, "data": {"id": f"{source}/{target}"}}


def records() -> Iterator[dict[str, object]]:
    """The knowledge base before the agent."""
    people = [name.strip() for name in PEOPLE.split(",")]
    yield from (node("Team", name=name) for name in TEAMS)
    yield from (node("Topic", name=name) for name in TOPICS)
    for i, name in enumerate(PROJECTS):
        yield node("Project", name=name, status=("active", "idea", "done")[i % 3], budget=40_000 + 15_000 * i)
        yield from (edge("Needs", name, TOPICS[(i * 2 + step) % len(TOPICS)]) for step in range(2))
    for i, name in enumerate(people):
        city, role = CITIES[i * i % 4], ROLES[i % 4]
        yield node("Person", name=name, role=role, city=city, joined=f"20{18 + i % 8}-0{1 + i % 9}-1{i % 10}")
        yield edge("MemberOf", name, TEAMS[i % 3])
        yield edge("WorksOn", name, PROJECTS[i * 7 % 5])
        if i > 2:
            yield edge("Reports", name, people[i % 3])
    for i in range(40):
        title = f"{('Notes on', 'Design of', 'Questions about', 'Measuring')[i % 4]} {TOPICS[i * 3 % 8]} {i // 8 + 1}"
        yield node(
            "Document", title=title, summary=f"What the team knows about {TOPICS[i * 3 % 8]}.", words=400 + i * 37
        )
        yield edge("Wrote", people[i * 5 % len(people)], title)
        yield edge("About", title, TOPICS[i * 3 % 8])
        if i % 3 == 0:
            yield edge("About", title, TOPICS[(i * 3 + 4) % 8])


def build(path: Path) -> None:
    """The graph, its history, and a branch of an agent that disagrees about one value."""
    graph = omnigraph.create(path, SCHEMA)
    graph.load(list(records()), actor="ann", message="import the wiki and the directory")
    update(graph, "Project", "Hybrid ranking", "status", '"active"', "main", "bob", "hybrid ranking has started")
    graph.create_branch("agent/tidy-up")
    agent = {"branch": "agent/tidy-up", "actor": "bot-7"}
    found = [
        node("Topic", name="reviews"),
        node("Document", title="Reviewing changes of a graph", summary="How a change is read before it is merged."),
        node("Document", title="Checks before a merge", summary="Stored queries that must be empty."),
        edge("About", "Reviewing changes of a graph", "reviews"),
        edge("About", "Reviewing changes of a graph", "merging"),
        edge("About", "Checks before a merge", "reviews"),
        edge("Wrote", "Mary Shaw", "Reviewing changes of a graph"),
        edge("Wrote", "Barbara Liskov", "Checks before a merge"),
        edge("Needs", "Reviews", "reviews"),
    ]
    graph.load(found, mode="merge", message="documents found in the drive", **agent)
    update(graph, "Project", "Reviews", "status", '"active"', message="the project has documents", **agent)
    update(graph, "Project", "Reviews", "budget", "120000", message="budget of the new plan", **agent)
    update(graph, "Person", "Mary Shaw", "role", '"lead"', message="Mary leads the reviews", **agent)
    text = 'query q() { delete Document where title = "Design of planning 5" }'
    graph.mutate(text, message="a duplicate", **agent)
    update(graph, "Project", "Reviews", "budget", "90000", "main", "ann", "budget of the board")
    graph.create_branch("import/2026-10")
    graph.load(
        [node("Document", title=f"Minutes {i:02}", words=90 + i) for i in range(30)],
        branch="import/2026-10", actor="ann", message="minutes of October",
    )  # fmt: skip
    update(graph, "Person", "Vint Cerf", "city", '"Oslo"', "main", "bob", "Vint has moved")


def update(
    graph: Graph, type_name: str, name: str, column: str, value: str, branch: str, actor: str, message: str
) -> None:
    text = f"query q($n: String) {{ update {type_name} set {{ {column}: {value} }} where name = $n }}"
    graph.mutate(text, {"n": name}, branch=branch, actor=actor, message=message)


SCREENS: dict[str, tuple[str, dict[str, str], str]] = {
    "overview": ("overview", {}, ".schema text"),
    "query": ("query", {"text": TOGETHER, "params": '{"topic":"merging"}', "run": "1"}, "tbody tr"),
    "result": ("query", {"text": TOGETHER, "params": '{"topic":"merging"}', "run": "1", "view": "Graph"}, "canvas"),
    "browse": ("browse", {"type": "Project", "id": "Reviews", "history": "budget"}, ".timeline li"),
    "picture": ("browse", {"view": "picture", "sample": "300"}, "[data-drawn] canvas"),
    "history": ("history", {}, ".commits tbody tr"),
    "review": ("review", {"source": "agent/tidy-up", "target": "main"}, ".conflict"),
    "jobs": ("jobs", {}, "[aria-label=Findings] summary"),
}
README = (("review", "light"), ("picture", "dark"))
"""Screens and themes of the README."""


def take(page: Any, name: str, theme: str, size: dict[str, int], target: Path) -> None:
    """One picture of a screen that shows everything it has."""
    screen, params, ready = SCREENS[name]
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.evaluate("hash => { location.hash = hash }", f"#/company/{screen}?{urlencode(params)}")
    page.locator(ready).first.wait_for()
    page.locator("main:not(:has(.skeleton))").wait_for()
    # Drawings follow their box one frame later.
    page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=target, animations="disabled")


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "company.omni"
        build(path)
        with served(path) as address, browser_page(address) as page:
            if not arguments:
                for name, theme in README:
                    take(page, name, theme, SIZE, IMAGES / f"{name}.png")
            for name in arguments[1:] or (SCREENS if arguments else ()):
                for kind, (theme, size) in KINDS.items():
                    take(page, name, theme, size, Path(arguments[0]) / f"{name}-{kind}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
