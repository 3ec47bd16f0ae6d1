"""The backslash commands of the shell, as a table: name, arguments, summary, function."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from omnigraph.cli.args.row_output import BINARY_FORMATS, TEXT_FORMATS, show_list
from omnigraph.cli.shell import describe
from omnigraph.cli.shell.session import Session
from omnigraph.cli.show.output import say
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError

_NAME: Final = re.compile(r"\$?([a-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Command:
    """A command that only needs the session. Commands that run queries have no function: the shell runs them."""

    arguments: str
    summary: str
    run: Callable[[Session, str], None] | None = None


def find(name: str) -> Command:
    """A command by its name; raises UsageError for an unknown one."""
    found = COMMANDS.get(name)
    if found is None:
        hint = did_you_mean(name, COMMANDS) or "\\help lists the commands"
        raise UsageError(f"unknown command {name}", hint=hint)
    return found


def _branch(session: Session, argument: str) -> None:
    words = argument.split()
    match words:
        case []:
            describe.branches(session)
        case ["-c", name, *rest] if len(rest) <= 1:
            session.require_writable_graph()
            if rest:
                session.graph.create_branch(name, rest[0], actor=session.actor)
            else:
                session.graph.create_branch(name, session.branch, at=session.place["at"], actor=session.actor)
            session.switch(name)
            say(f"created branch {name}")
        case [name] if name != "-c":
            session.switch(name)
        case _:
            raise _usage("\\branch", argument)


def _at(session: Session, argument: str) -> None:
    session.travel(argument or None)
    if session.moment is not None:
        say(f"at commit {session.moment.commit_id}; \\at returns to the head")


def _timing(session: Session, argument: str) -> None:
    states = {"on": True, "off": False, "": not session.has_timing}
    if argument.lower() not in states:
        raise _usage("\\timing", argument)
    session.has_timing = states[argument.lower()]
    say(f"timing is {'on' if session.has_timing else 'off'}")


def _set(session: Session, argument: str) -> None:
    name, _, text = argument.partition(" ")
    if not name:
        describe.parameters(session)
        return
    found = _NAME.fullmatch(name)
    if found is None:
        raise UsageError(
            f"{name!r} is not the name of a parameter", hint="a name starts with a lower-case letter: \\set name Ada"
        )
    if not text.strip():
        raise UsageError(f"no value for the parameter {name!r}", hint=f"\\set {name} VALUE, or \\unset {name}")
    value = _value(text.strip())
    if isinstance(value, dict):
        raise UsageError(f"the value of {name!r} is an object", hint="a parameter is a text, a number, true, or a list")
    session.parameters[found.group(1)] = value


def _value(text: str) -> object:
    """JSON if the text is JSON, otherwise the text itself."""
    try:
        # NaN and Infinity are extensions of Python's reader, and no values of a property.
        value: object = json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text
    return value


def _not_json(word: str) -> NoReturn:
    raise ValueError(word)


def _unset(session: Session, argument: str) -> None:
    name = argument.removeprefix("$")
    if name not in session.parameters:
        hint = did_you_mean(name, session.parameters) or "\\set lists the parameters"
        raise UsageError(f"there is no parameter {argument!r}", hint=hint)
    del session.parameters[name]


def _output(session: Session, argument: str) -> None:
    if not argument:
        say(session.format)
    elif argument in TEXT_FORMATS:
        session.format = argument
    elif argument in BINARY_FORMATS:
        hint = f"`omnigraph query ... --output rows.{argument}` writes a file"
        raise UsageError(f"the shell cannot print {argument}, a binary format", hint=hint)
    else:
        hint = did_you_mean(argument, TEXT_FORMATS) or f"formats: {', '.join(TEXT_FORMATS)}"
        raise UsageError(f"unknown format {argument!r}", hint=hint)


def _help(_session: Session, argument: str) -> None:
    if argument:
        name = argument if argument.startswith("\\") else f"\\{argument}"
        command = find(name)
        say(f"{name} {command.arguments}".rstrip() + f"\n  {command.summary}")
        return
    rows = [(f"{name} {command.arguments}".rstrip(), command.summary) for name, command in COMMANDS.items()]
    show_list("help", {"command": str, "effect": str}, rows, "table")
    say()
    say("Queries: query name($p: T) {...}, or a body alone: match { $p: Person } return { $p.name }")
    say('Each mutation is one commit: insert Person { name: "Ada" }')
    say("SQL: select ... ;   A blank line or `;` ends any input.")


def _usage(name: str, argument: str) -> UsageError:
    return UsageError(f"{name} does not take {argument!r}", hint=f"usage: {name} {COMMANDS[name].arguments}")


COMMANDS: Final[dict[str, Command]] = {
    "\\d": Command("[TYPE]", "List the types with their counts, or describe one type.", describe.types),
    "\\branch": Command("[NAME | -c NAME [FROM]]", "List branches, switch to one, or create one and switch.", _branch),
    "\\at": Command("[MOMENT]", "Read at a commit, a time or HEAD~2; without one return to the head.", _at),
    "\\log": Command("[NUMBER]", "List the newest commits of the branch. [default: 10]", describe.log),
    "\\diff": Command("[FROM [TO]]", "Show changes: of the last commit, or between two moments.", describe.diff),
    "\\sql": Command("SELECT", "Run one SQL select; it may begin on the next line."),
    "\\explain": Command("QUERY", "Show the plan of a query or mutation. Nothing runs."),
    "\\set": Command(
        "[NAME VALUE]", "Set a parameter of queries and SQL, or list them. Values are JSON or text.", _set
    ),
    "\\unset": Command("NAME", "Remove a parameter.", _unset),
    "\\o": Command("[FORMAT]", f"Show or set the output format: {', '.join(TEXT_FORMATS)}.", _output),
    "\\timing": Command("[on | off]", "Print the time of every query.", _timing),
    "\\i": Command("FILE", "Run the queries and commands of a file."),
    "\\help": Command("[COMMAND]", "List the commands, or explain one.", _help),
    "\\q": Command("", "Leave the shell; Ctrl-D does the same."),
}
