"""One server with one graph and its page, shared by all tests of the page, and one browser for each module."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.types import ASGIApp

import omnigraph
from omnigraph import Graph
from omnigraph.policy.actions import Resource
from omnigraph.policy.decide import Policy
from omnigraph.policy.read_bundle import read_bundle
from omnigraph.server.access.states import State
from omnigraph.server.page import PREFIX, Page
from tests.features.page.browsers import Watched, chromium
from tests.features.server.live import Live, queries_of, running, serving_of

TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob", "eve": "token-of-eve"}
POLICY = """
version: 1
groups: {admins: [ann], readers: [bob]}
rules:
  - id: all
    allow:
      actors: {group: admins}
      actions: [read, admin, export, branch_merge, branch_create, branch_delete, change, invoke_query]
  - id: reads
    allow: {actors: {group: readers}, actions: [read, invoke_query]}
"""
SCHEMA = """
node Person {
  name: String @key
  age: I32?
  city: String?
  tags: [String]?
}
node Doc { title: String @key  length: I64? }
edge Knows: Person -> Person
edge Wrote: Person -> Doc
"""
HOSTILE = "<img src=x onerror=document.title='taken'>"
STORED = (
    'query check_no_draft() { match { $d: Doc {title: "draft"} } return { $d.title } }',
    'query in_city($city: String) @description("People of a city") '
    "{ match { $p: Person {city: $city} } return { $p.name, $p.age } order { $p.name } }",
)
LARGE = 10_000
"""Changes of the branch `large`."""


def small_graph(path: Path) -> Graph:
    """People who know each other, documents, and branches to review."""
    graph = omnigraph.create(path, SCHEMA, durability="os")
    people = [{"type": "Person", "data": {"name": f"p{i}", "age": 20 + i, "city": f"c{i % 3}"}} for i in range(30)]
    people.append({"type": "Person", "data": {"name": HOSTILE}})
    edges = [{"edge": "Knows", "from": f"p{i}", "to": f"p{i + 1}", "data": {"id": f"k{i}"}} for i in range(20)]
    graph.load([*people, *edges], actor="ann", message="the first people")
    for name in ("conflict", "discussed", "checked", "large"):
        graph.create_branch(name)
    for name in ("conflict", "discussed"):
        person = "p2" if name == "conflict" else "p4"
        text = "query q($n: String) { update Person set {city: $c, age: 50} where name = $n }"
        graph.mutate(text.replace("$c", '"west"'), {"n": person}, branch=name)
        graph.mutate('query q($n: String) { update Person set {city: "east"} where name = $n }', {"n": person})
    graph.mutate('query q() { insert Doc {title: "plan"} insert Wrote {from: "p1", to: "plan"} }', branch="conflict")
    graph.mutate('query q() { update Person set {city: "north"} where name = "p9" }', actor="bot-7", message="moved p9")
    graph.mutate('query q() { insert Doc {title: "draft"} }', branch="checked")
    documents = [{"type": "Doc", "data": {"title": f"doc{i:05}", "length": i}} for i in range(LARGE)]
    graph.load(documents, branch="large")
    return graph


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return small_graph(tmp_path_factory.mktemp("page") / "kb.omni")


@pytest.fixture(scope="session")
def live(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server with tokens, a policy and the page."""
    bundle = tmp_path_factory.mktemp("policy") / "policy.yaml"
    bundle.write_text(POLICY, encoding="utf-8")
    policy = Policy(read_bundle(bundle, Resource.GRAPH), "kb")
    queries = queries_of(graph, *STORED)
    serving = serving_of(graph, tokens=TOKENS, authorizer=policy, state=State.POLICY_ENABLED, queries=queries)
    mounts: dict[str, ASGIApp] = {}
    with running(serving, mounts=mounts) as server:
        page = Page(lambda: server.app.serving)
        mounts.update({"": page, PREFIX: page})
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for a module: its event loop must not run while tests of another one start their own."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def new_context(browser: Any) -> Iterator[Callable[..., Any]]:
    """Makes contexts of the browser: each has its own storage, size and theme."""
    made: list[Any] = []

    def make(**options: Any) -> Any:
        context = browser.new_context(
            viewport={"width": 1280, "height": 820}, reduced_motion="reduce", accept_downloads=True, **options
        )
        # Long enough for a busy machine; a road takes a few seconds.
        context.set_default_timeout(30_000)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def context(new_context: Callable[..., Any]) -> Any:
    return new_context()


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def tab(context: Any, live: Live, watched: Watched) -> Iterator[Any]:
    """An empty tab. No error is printed in it, and no other host is asked."""
    tab = context.new_page()
    watched.watch(tab)
    yield tab
    assert watched.errors == []
    assert watched.hosts() == {live.address.removeprefix("http://")}


@pytest.fixture
def page(tab: Any, live: Live) -> Any:
    """A page whose person is ann, at the screen that reads least."""
    enter(tab, live, "ann")
    return tab


def enter(page: Any, live: Live, actor: str) -> None:
    """Open the page in a tab that has a token already."""
    page.add_init_script(f"sessionStorage.setItem('omnigraph-token', {json.dumps(TOKENS[actor])})")
    page.goto(f"{live.address}/ui/{hash_of('review')}")
    page.locator(".actor", has_text=actor).wait_for()


def sign_in(page: Any, live: Live, actor: str) -> None:
    """Open the page as ``omnigraph ui`` does, with the token in the fragment."""
    page.goto(f"{live.address}/ui/#token={TOKENS[actor]}")
    page.locator(".actor", has_text=actor).wait_for()


def visit(page: Any, screen: str, **params: object) -> None:
    """Go to a screen; what stands on the page afterwards is of that screen."""
    follow(page, hash_of(screen, **params))


def follow(page: Any, link: str) -> None:
    """Open a link of the page. The fragment changes at once, the page with the event that follows."""
    page.evaluate(
        """link => {
          const before = location.hash;
          location.href = link;
          if (location.hash === before) return null;
          return new Promise((done) => addEventListener("hashchange", () => done(null), { once: true }));
        }""",
        link,
    )


def address_of(page: Any) -> str:
    """The address as the page has it: the one of Playwright follows some time later."""
    return str(page.evaluate("location.href"))


def hash_of(screen: str, **params: object) -> str:
    """The fragment of a screen."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in params.items()}
    return f"#/kb/{screen}?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in texts.items())
