"""``omnigraph demo``: a guided tour on a million entities.

Every command that is shown is run in this process; a command that fails ends the tour with its exit code.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import click

from omnigraph.cli.args.scopes import STORE_VARIABLE
from omnigraph.cli.demo_data import PEOPLE, World, meaning, person
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say
from omnigraph.engine.engine_choice import BY_SPARK, EMBEDDED, has_spark
from omnigraph.errors import AlreadyExistsError

SCHEMA: Final = "world.pg"
QUERIES: Final = "world.gq"
DATA: Final = "world.jsonl"
GRAPH: Final = "world.omni"
_FILES: Final = (SCHEMA, QUERIES, DATA, GRAPH)


@click.command("demo")
@click.argument("directory", default="omnigraph-demo")
@click.option(
    "--people", type=click.IntRange(min=10), default=PEOPLE, help=f"Number of people in the data. [default: {PEOPLE:,}]"
)
@click.option(
    "--engine",
    type=click.Choice((BY_SPARK, EMBEDDED)),
    help="Engine that loads. [default: spark if installed, else embedded]",
)
@click.option("--replace", is_flag=True, help="Replace the files of an earlier demo in DIRECTORY.")
def command(directory: str, people: int, engine: str | None, replace: bool) -> int:
    """Tour of Omnigraph on a graph of a million entities.

    Creates DIRECTORY with a schema, queries, data and a graph, and keeps them for further experiments.
    """
    if engine is None and not has_spark():
        say(
            'note: Spark is not installed, so this process loads; pip install "omnigraph[spark]" brings it',
            to_stderr=True,
        )
        engine = EMBEDDED
    place = Path(directory)
    _prepare(place, replace)
    tour = _Tour(place)
    started = time.monotonic()
    os.environ[STORE_VARIABLE] = tour.store
    say(paint(f"$ export {STORE_VARIABLE}={shlex.quote(tour.store)}", "bright_black"))
    for chapter in (_bring_in, _ask, _branch_out, _look_back):
        if (status := chapter(tour, people, engine or BY_SPARK)) != OK:
            return status
    say(f"\n{paint('The tour took', bold=True)} {time.monotonic() - started:.0f} s.")
    _what_next(place)
    return OK


def _prepare(place: Path, replace: bool) -> None:
    """Prepare the directory; files that do not belong to the demo are kept."""
    left = [name for name in _FILES if (place / name).exists()]
    if left and not replace:
        raise AlreadyExistsError(
            f"{click.format_filename(place)} already contains a demo",
            hint="pass --replace to recreate it, or choose another DIRECTORY",
        )
    for name in left:
        shutil.rmtree(place / name) if (place / name).is_dir() else (place / name).unlink()
    place.mkdir(parents=True, exist_ok=True)
    files = resources.files("omnigraph.cli") / "demo_world"
    for name in (SCHEMA, QUERIES):
        (place / name).write_text((files / name).read_text(encoding="utf-8"), encoding="utf-8")


@dataclass(slots=True)
class _Tour:
    """The directory of a tour, and its number of chapters so far."""

    place: Path
    chapters: int = 0

    @property
    def store(self) -> str:
        return str(self.place / GRAPH)

    def chapter(self, title: str) -> None:
        self.chapters += 1
        say(f"\n{paint(f'{self.chapters}. {title}', bold=True)}")

    def run(self, *words: str) -> int:
        """Show a command and run it."""
        self.show(*words)
        return _run(words)

    def show(self, *words: str, beside: bool = False) -> None:
        """Show a command; ``beside`` marks commands that run concurrently."""
        start, end = ("", " &") if beside else ("\n", "")
        say(f"{start}{paint(f'$ omnigraph {shlex.join(words)}{end}', 'bright_black')}")
        sys.stdout.flush()

    def ask(self, name: str, *words: str, **params: object) -> int:
        """Run one of the queries; lists in parameters are abbreviated."""
        given = ("--params", json.dumps(params)) if params else ()
        shown = ("--params", _short(params)) if params else ()
        query = ("query", name, "--query", str(self.place / QUERIES))
        self.show(*query, *words, *shown)
        return _run((*query, *words, *given))


def _short(params: dict[str, object]) -> str:
    shown = {key: "..." if isinstance(value, list) else value for key, value in params.items()}
    return json.dumps(shown).replace('"..."', "[...]")


def _run(words: Sequence[str]) -> int:
    from omnigraph.cli.root import root

    try:
        root.main(list(words))
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else OK


def _bring_in(tour: _Tour, people: int, engine: str) -> int:
    tour.chapter("A schema says what may exist. The graph is a directory; it could be a bucket.")
    status = tour.run("init", "--schema", str(tour.place / SCHEMA), "--quiet")
    tour.chapter("The whole load is one atomic commit, checked against the schema.")
    data = tour.place / DATA
    written = World(people).write(data)
    say(f"made {click.format_filename(data)}: {written:,} lines, {data.stat().st_size / 1e6:,.0f} MB")
    load = ("load", "--data", str(data), "--mode", "append", "--engine", engine)
    if (status := status or tour.run(*load, "--as", "importer", "--message", "the world")) != OK:
        return status
    tour.chapter("Indexing and compaction are separate commits: results do not change, and readers do not wait.")
    return tour.run("optimize", "--quiet")


def _ask(tour: _Tour, people: int, engine: str) -> int:
    tour.chapter("Follow edges, and count.")
    status = tour.ask("circle", handle=person(1)) or tour.ask("talked_about")
    tour.chapter("Search by words, by vectors, and by both in one ranking that continues along edges.")
    words, vector = "lithium grid storage", meaning("batteries")
    return (
        status
        or tour.ask("about", words=words)
        or tour.ask("alike", vector=vector)
        or tour.ask("experts", words=words, vector=vector)
    )


def _branch_out(tour: _Tour, people: int, engine: str) -> int:
    tour.chapter("Two agents work on two branches at the same time. One moves a person, one promotes the same person.")
    for name in ("agent-a", "agent-b"):
        if (status := tour.run("branch", "create", name, "--quiet")) != OK:
            return status
    someone = person(7)
    changes = (
        ("agent-a", "move", {"handle": someone, "city": "Reykjavik"}),
        ("agent-b", "promote", {"handle": someone, "title": "chief scientist"}),
        ("agent-b", "hire", {"handle": "new", "name": "Sophie Wilson", "born": 1957, "friend": someone}),
    )
    by_branch = {branch: [item for item in changes if item[0] == branch] for branch, _, _ in changes}
    for branch, query, params in changes:
        mutate = ("mutate", query, "--query", str(tour.place / QUERIES), "--branch", branch, "--as", branch)
        tour.show(*mutate, "--params", json.dumps(params), beside=True)
    with ThreadPoolExecutor() as agents:
        for done in agents.map(lambda items: _mutate(tour, items), by_branch.values()):
            say(f"{paint('ok', 'green', bold=True)}: {done}")
    tour.chapter("Preview, then merge. Different properties of one person do not conflict, and no work is lost.")
    return (
        tour.run("branch", "merge", "agent-a", "--as", "lead", "--quiet")
        or tour.run("merge", "preview", "agent-b")
        or tour.run("branch", "merge", "agent-b", "--as", "lead", "--quiet")
        or tour.ask("person", handle=someone)
    )


def _mutate(tour: _Tour, changes: Sequence[tuple[str, str, dict[str, object]]]) -> str:
    """Run the changes of one agent, with a graph handle of its own."""
    from omnigraph.engine.graph import open_graph

    graph = open_graph(tour.store)
    text = (tour.place / QUERIES).read_text(encoding="utf-8")
    for branch, query, params in changes:
        graph.mutate(text, params, name=query, branch=branch, actor=branch)
    return f"{changes[0][0]} made {count(len(changes), 'commit')}"


def _look_back(tour: _Tour, people: int, engine: str) -> int:
    tour.chapter("Every state stays readable: the same person, right after the import; and what happened since.")
    from omnigraph.engine.graph import open_graph

    first = next(commit.id for commit in open_graph(tour.store).commits(kind="load"))
    return (
        tour.ask("person", "--at", first, handle=person(7))
        or tour.run("commit", "list", "--draw")
        or tour.run("diff", first, "main")
        or tour.run("verify", "--quick", "--quiet")
    )


def _what_next(place: Path) -> None:
    graph, queries = (click.format_filename(place / name) for name in (GRAPH, QUERIES))
    lines = (
        f"export OMNIGRAPH_STORE={graph}",
        f'omnigraph query circle --query {queries} --params \'{{"handle": "p5"}}\' --stats',
        "omnigraph query -e 'query q() { match { $p: Person { city: \"Oslo\" } } return { count($p) as people } }'",
        "omnigraph analyze pagerank --edges Knows --top 5",
        "omnigraph sql 'select industry, count(*) from Company group by all'",
        "omnigraph changes poll --start beginning --limit 3",
        "omnigraph doctor",
    )
    say(f"\n{paint('What to try next', bold=True)}")
    for line in lines:
        say(f"  {line}")
    say("  Read on: docs/user/quickstart.md, docs/user/queries.md, docs/user/branching.md")
