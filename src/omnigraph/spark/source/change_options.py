"""Options of the change feed: ``readChangeFeed`` with versions, or ``changes`` with a start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.engine.graph import Graph, open_graph
from omnigraph.engine.history.feed import AFTER, BEGINNING, Feed
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.rows.arrow_types import Entity
from omnigraph.spark.source.options import SourceOptions, checked_store, known_options, storage_options

_NAMES = (
    "store", "changes", "readchangefeed", "startingversion", "endingversion", "branch", "kind", "type", "op", "images",
    "commits", "policy", "actor",
)  # fmt: skip
_FILTERS = ("kind", "type", "op")


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """Parsed options of a change feed. ``first`` is the first commit to deliver, ``start`` a position before it."""

    store: str
    start: str = BEGINNING
    first: str | None = None
    last: str | None = None
    branch: str = "main"
    commits: int | None = None
    images: str | None = None
    chosen: Mapping[str, list[str]] = field(default_factory=dict)
    policy: str | None = None
    actor: str | None = None
    storage: Mapping[str, str] = field(default_factory=dict)

    def graph(self) -> Graph:
        return open_graph(self.store, storage_options=self.storage, policy=self.policy, actor=self.actor)

    def feed(self) -> Feed:
        kind, type_, op = (self.chosen.get(name) for name in _FILTERS)
        return self.graph().feed(self.branch, kind=kind, type=type_, op=op)

    def start_cursor(self, feed: Feed) -> str:
        """The cursor before the first commit to deliver."""
        if self.first is None:
            return feed.start(self.start)
        commit = feed.moments.commit(self.first, self.branch)
        return feed.start(f"{AFTER}{commit.parents[0]}" if commit.parents else BEGINNING)

    def end_cursor(self, feed: Feed) -> str | None:
        """The cursor of the last commit to deliver; None for the head."""
        if self.last is None:
            return None
        try:
            return feed.start(f"{AFTER}{feed.moments.commit(self.last, self.branch).id}")
        except NotFoundError as error:
            raise UsageError(f"unknown endingVersion {self.last!r}: {error.message}", hint=error.hint) from error

    def typed_entity(self) -> Entity | None:
        """The type whose properties are the columns of images; None for images as JSON texts."""
        types = self.chosen.get("type", [])
        if self.images == "json" or len(types) != 1:
            return None
        kinds = self.chosen.get("kind", [])
        kind = kinds[0] if len(kinds) == 1 else None
        return SourceOptions(self.store, types[0], kind).entity(self.graph().catalog(self.branch))


def is_change_feed(given: Mapping[str, str]) -> bool:
    """True if the options are those of a change feed."""
    named = {name.lower(): value for name, value in given.items()}
    return "changes" in named or named.get("readchangefeed", "false").lower() == "true"


def parse_change_options(given: Mapping[str, str], defaults: Mapping[str, str] | None = None) -> ChangeOptions:
    """Parse the options that Spark passes, with case-insensitive names, over the defaults of the session."""
    options = known_options(given, _NAMES, " of a change feed")
    known = {name: value for name, value in (defaults or {}).items() if name.lower() in _NAMES}
    stored = {name: value for name, value in (defaults or {}).items() if name.lower().startswith("storage.")}
    options = {**known_options({**known, **stored}, _NAMES), **options}
    if "changes" in options and "startingversion" in options:
        raise UsageError(
            "the options 'changes' and 'startingVersion' both name a start",
            hint="startingVersion includes its commit; changes=after:COMMIT does not",
        )
    commits = options.get("commits")
    if commits is not None and not (commits.isdecimal() and int(commits)):
        raise UsageError(
            f"invalid number of commits: {commits!r}",
            hint='use a positive integer: .option("commits", 100) limits a micro-batch',
        )
    images = options.get("images")
    if images not in (None, "json", "typed"):
        raise UsageError(f"unknown value for images: {images!r}", hint="expected one of json, typed")
    chosen = {name: [item.strip() for item in options[name].split(",")] for name in _FILTERS if name in options}
    if images == "typed" and len(chosen.get("type", [])) != 1:
        raise UsageError("typed images need one type", hint='name it: .option("type", ...)')
    return ChangeOptions(
        checked_store(options),
        options.get("changes", BEGINNING),
        options.get("startingversion"),
        options.get("endingversion"),
        options.get("branch", "main"),
        None if commits is None else int(commits),
        images,
        chosen,
        options.get("policy"),
        options.get("actor"),
        storage_options(options),
    )
