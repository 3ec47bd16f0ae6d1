"""Completion in the shell: commands and their arguments, queries, and SQL, for a line that is being typed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from omnigraph.cli.args.row_output import TEXT_FORMATS
from omnigraph.cli.shell.commands import COMMANDS
from omnigraph.cli.shell.inputs import Language, language
from omnigraph.cli.shell.session import Session
from omnigraph.query.completion.complete import Candidate, CandidateKind, Completion, complete

_SQL_WORDS: Final = (
    *("select", "from", "where", "group by", "having", "order by", "limit", "offset", "with", "as", "distinct"),
    *("join", "left join", "on", "using", "and", "or", "not", "in", "is null", "is not null", "like", "between"),
    *("case", "when", "then", "else", "end", "asc", "desc", "union all"),
    *("count(", "sum(", "avg(", "min(", "max("),
)
_SQL_WORD: Final = re.compile(r"\$?\w*\Z")


def candidates(session: Session, text: str, position: int) -> Completion:
    """The candidates at a position of an input."""
    before = text[:position]
    name, space, argument = before.lstrip().partition(" ")
    if before.lstrip().startswith("\\") and not space:
        return _starting(before, name, (_of(word, command.summary) for word, command in COMMANDS.items()))
    if name == "\\explain":
        found = _queries(session, text[len(before) - len(argument) :], len(argument))
        return Completion(found.start + len(before) - len(argument), found.candidates)
    if language(before) is Language.SQL or name == "\\sql":
        word = _SQL_WORD.search(before)
        return _starting(before, word.group() if word else "", _sql(session))
    if language(before) is Language.COMMAND:
        return _starting(before, argument.rpartition(" ")[2], _arguments(session, name, argument))
    return _queries(session, text, position)


def _queries(session: Session, text: str, position: int) -> Completion:
    return complete(text, position, session.recent_snapshot().catalog, session.parameters)


def _starting(before: str, word: str, offered: Iterable[Candidate]) -> Completion:
    folded = word.lower()
    found = {item.text: item for item in offered if item.text.lower().startswith(folded) and item.text != word}
    return Completion(len(before) - len(word), tuple(found.values()))


def _of(word: str, detail: str = "", kind: CandidateKind = CandidateKind.KEYWORD) -> Candidate:
    return Candidate(word, kind, detail)


def _arguments(session: Session, name: str, argument: str) -> Iterator[Candidate]:
    match name:
        case "\\d":
            catalog = session.recent_snapshot().catalog
            yield from (_of(node, "node", CandidateKind.NODE_TYPE) for node in catalog.nodes)
            yield from (_of(edge, "edge", CandidateKind.EDGE_TYPE) for edge in catalog.edges)
        case "\\branch" | "\\diff":
            yield from (_of(branch.name, "branch") for branch in session.graph.branches())
        case "\\o":
            yield from map(_of, TEXT_FORMATS)
        case "\\set" | "\\unset":
            yield from (_of(known, kind=CandidateKind.PARAMETER) for known in session.parameters)
        case "\\timing":
            yield from map(_of, ("on", "off"))
        case "\\help":
            yield from map(_of, COMMANDS)
        case "\\i":
            yield from map(_of, _paths(argument))
        case _:
            return


def _paths(argument: str) -> Iterator[str]:
    """Files and directories whose path starts with the argument."""
    directory = os.path.dirname(argument)
    try:
        entries = sorted(os.scandir(directory or "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = os.path.join(directory, entry.name)
        if path.startswith(argument) and " " not in path:
            yield f"{path}/" if entry.is_dir() else path


def _sql(session: Session) -> Iterator[Candidate]:
    """Tables, columns, parameters and the usual words of SQL; which of them fits is not decided."""
    from omnigraph.engine.query.table_names import table_names

    tables = table_names(session.recent_snapshot().entities())
    yield from (_of(name, "table", CandidateKind.NODE_TYPE) for name in tables)
    for name, entity in tables.items():
        yield from (_of(column, name, CandidateKind.PROPERTY) for column in ("id", *entity.properties))
    yield from (_of(f"${name}", kind=CandidateKind.PARAMETER) for name in session.parameters)
    yield from map(_of, _SQL_WORDS)
