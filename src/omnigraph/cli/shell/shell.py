"""The shell itself: takes lines, runs complete inputs, reports mistakes and stays alive.

It knows no terminal: ``terminal`` and ``script`` feed it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from omnigraph.cli.args.files import read_source
from omnigraph.cli.args.row_output import show_rows
from omnigraph.cli.errors import report
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.shell import inputs
from omnigraph.cli.shell.commands import find
from omnigraph.cli.shell.inputs import Language
from omnigraph.cli.shell.interrupts import cancellable
from omnigraph.cli.shell.programs import Origin, Program, programs
from omnigraph.cli.show.mutations import show_mutation
from omnigraph.cli.show.output import say, say_json
from omnigraph.errors import CompileError, QueryCancelled, UsageError

if TYPE_CHECKING:
    from omnigraph.cli.shell.session import Session
    from omnigraph.engine.query.result import QueryResult

_FILES_DEEP_MAX: Final = 10
"""Files that run each other by ``\\i``."""


@dataclass(slots=True)
class Shell:
    """One session at work. ``status`` is the exit code of the first failure."""

    session: Session
    is_interactive: bool = False
    is_json: bool = False
    keeps_going: bool = False
    status: int = OK
    is_done: bool = False
    _origin: Origin = field(default_factory=Origin)
    _pending: str = ""
    _braces: inputs.Braces = field(default_factory=inputs.Braces)
    _files: list[str] = field(default_factory=list)
    _failures: int = 0

    @property
    def is_pending(self) -> bool:
        """True while an input is not complete."""
        return bool(self._pending)

    def run_line(self, line: str) -> bool:
        """Take one line and run every input that it completes; false if one of them failed."""
        return self._take(inputs.Line(1, line))

    def run_text(self, text: str) -> bool:
        """Run a text of several lines: as one input if it parses as one, otherwise as a script. False if it failed."""
        if inputs.language(text) is Language.QUERY and inputs.parses(text):
            self._origin = Origin(self._origin.name)
            return self._guarded(text)
        return self.run_script(text.split("\n"), self._origin.name)

    def run_script(self, lines: Iterable[str], name: str) -> bool:
        """Run the lines of a script; the first failure ends it, unless the shell keeps going."""
        outer = self._origin
        self._origin = Origin(name)
        is_good = True
        try:
            for line in inputs.joined(lines):
                is_good = self._take(line) and is_good
                if self.is_done or not (is_good or self.keeps_going):
                    return is_good
            return self.finish() and is_good
        finally:
            self._origin, self._pending, self._braces = outer, "", inputs.Braces()

    def finish(self) -> bool:
        """Run an input that ends with the text; false if it failed."""
        text, self._pending, self._braces = self._pending, "", inputs.Braces()
        return self._guarded(text)

    def _take(self, line: inputs.Line) -> bool:
        is_good = True
        is_end = not line.text.strip() and not self._braces.are_open
        if self.is_pending and (is_end or line.text.lstrip().startswith("\\")):
            is_good = self.finish()
        if not self.is_pending:
            if inputs.is_blank(line.text):
                return is_good
            self._origin = Origin(self._origin.name, line.number - 1)
        self._pending += f"\n{line.text}" if self.is_pending else line.text
        self._braces.add(line.text)
        is_whole = not self._braces.are_open and inputs.is_complete(self._pending)
        return (self.finish() and is_good) if is_whole else is_good

    def _guarded(self, text: str) -> bool:
        """Run an input, report its failure, and stay alive; false if it, or a file that it ran, failed."""
        before = self._failures
        try:
            if not inputs.is_blank(text):
                self._run(text)
        except (KeyboardInterrupt, QueryCancelled):
            if not self.is_interactive:
                raise
            say("cancelled", to_stderr=True)
        except BrokenPipeError:
            raise
        except Exception as error:
            status = report(error, (), as_json=self.is_json)
            if not (self.is_interactive or self.is_json or isinstance(error, CompileError)):
                say(f"  at {self._origin}", to_stderr=True)
            self.status = self.status or status
            self._failures += 1
        return self._failures == before

    def _run(self, text: str) -> None:
        match inputs.language(text):
            case Language.COMMAND:
                self._run_command(*inputs.command_words(text))
            case Language.SQL:
                self._run_sql(text)
            case Language.QUERY:
                outer = self._origin
                for piece in inputs.split_queries(text):
                    if not inputs.is_blank(piece.text):
                        self._origin = replace(outer, before=piece.before)
                        self._run_queries(piece.text)

    def _run_command(self, name: str, argument: str) -> None:
        argument = argument.removesuffix(";").rstrip()
        command = find(name)
        if command.run is not None:
            command.run(self.session, argument)
            return
        if name != "\\q" and not argument:
            raise UsageError(f"{name} needs an argument", hint=f"usage: {name} {command.arguments}")
        match name:
            case "\\sql":
                self._run_sql(argument)
            case "\\explain":
                self._explain(argument)
            case "\\i":
                self._run_file(argument)
            case "\\q":
                self.is_done = True

    def _run_file(self, path: str) -> None:
        if len(self._files) >= _FILES_DEEP_MAX:
            raise UsageError(f"{path} is run by itself, or {_FILES_DEEP_MAX} files run each other")
        source = read_source(path)
        self._files.append(path)
        try:
            self.run_script(source.text.splitlines(), source.name)
        finally:
            self._files.pop()

    def _run_queries(self, text: str) -> None:
        session = self.session
        word = inputs.first_word(text)
        if word in inputs.CONTINUATIONS:
            hint = "write it after `return { ... }` on the same line, or begin a line of the same input with Alt-Enter"
            raise UsageError(f"`{word}` belongs to a query, and the one before it has been run", hint=hint)
        catalog = session.snapshot().catalog
        for program in programs(text, catalog, session.parameters, self._origin):
            with self._timed(), self._located(program):
                if program.is_write:
                    self._mutate(program)
                else:
                    self._show(partial(session.graph.query, program.text, program.parameters))

    def _mutate(self, program: Program) -> None:
        session = self.session
        session.require_writable()
        try:
            result = session.graph.mutate(program.text, program.parameters, branch=session.branch, actor=session.actor)
        except KeyboardInterrupt:
            say("the mutation either committed or had no effect; \\log 1 shows which", to_stderr=True)
            raise
        if session.format == "json":
            from omnigraph.wire.writes import mutation_json

            say_json(mutation_json(result))
        else:
            show_mutation(result)

    def _run_sql(self, text: str) -> None:
        session = self.session
        for statement in inputs.split_sql(text):
            with self._timed():
                self._show(partial(session.graph.sql, statement, _named_in(statement, session.parameters)))

    def _show(self, read: Callable[..., QueryResult]) -> None:
        """Print the rows of a query or statement at the place that the session reads."""
        place = self.session.place
        if self.is_interactive:
            result = cancellable(lambda cancel: read(cancel=cancel, **place))
        else:
            result = read(**place)
        show_rows(result, self.session.format)

    def _explain(self, text: str) -> None:
        catalog = self.session.snapshot().catalog
        for program in programs(text, catalog, self.session.parameters, self._origin):
            with self._located(program):
                say(str(self.session.graph.explain(program.text, **self.session.place)))

    @contextmanager
    def _located(self, program: Program) -> Iterator[None]:
        """Show mistakes in the text that was typed."""
        try:
            yield
        except CompileError as error:
            raise program.located(error, self._origin, self.session.parameters) from error

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started = time.perf_counter()
        yield
        if self.session.has_timing:
            say(f"time: {(time.perf_counter() - started) * 1000:,.1f} ms", to_stderr=True)


def _named_in(text: str, parameters: dict[str, object]) -> dict[str, object] | None:
    """The parameters that a statement names; DuckDB refuses any other."""
    used = set(re.findall(r"\$(\w+)", text))
    return {name: value for name, value in parameters.items() if name in used} or None
