"""The shell on a terminal: line editing, history, completion after TAB, Ctrl-C and Ctrl-D."""

from __future__ import annotations

import os
from collections.abc import Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer
from prompt_toolkit.completion import Completion as Offer
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.output import Output

from omnigraph.cli.shell import inputs
from omnigraph.cli.shell.completer import candidates
from omnigraph.cli.shell.history_file import history_path, usable_history
from omnigraph.cli.shell.session import Session
from omnigraph.cli.shell.shell import Shell
from omnigraph.cli.show.output import say
from omnigraph.errors import OmnigraphError

_CONTINUATION = "... "


def run_terminal(shell: Shell, *, keys: Input | None = None, screen: Output | None = None) -> int:
    """Read and run inputs until the user leaves."""
    prompt: PromptSession[str] = PromptSession(
        history=_history(),
        completer=_Completer(shell.session),
        complete_while_typing=False,
        multiline=True,
        prompt_continuation=lambda width, _line, wraps: (" " if wraps else _CONTINUATION).rjust(width),
        key_bindings=_bindings(),
        enable_history_search=True,
        input=keys,
        output=screen,
    )
    say(f"{shell.session.graph.uri}; \\help lists the commands, \\q leaves")
    while not shell.is_done:
        try:
            shell.run_text(prompt.prompt(shell.session.prompt))
        except KeyboardInterrupt:
            # The input is cleared; the signal may also arrive just before or after a query runs.
            continue
        except EOFError:
            break
    # Mistakes of a conversation are corrected in it: leaving it is a success.
    return 0


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        """Run a complete input; otherwise begin another line. A blank line ends any input outside of braces."""
        buffer = event.current_buffer
        *before, last = buffer.text.split("\n")
        is_at_end = not buffer.document.text_after_cursor.strip()
        is_ended = bool(before) and not last.strip() and not inputs.braces(buffer.text).are_open
        is_command = last.lstrip().startswith("\\") and inputs.is_complete(last)
        if is_at_end and (is_ended or is_command or inputs.is_blank(buffer.text) or inputs.is_complete(buffer.text)):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=True)

    @bindings.add("escape", "enter")
    def _escape_enter(event: KeyPressEvent) -> None:
        """Begin another line of a complete input."""
        event.current_buffer.newline(copy_margin=True)

    return bindings


def _history() -> History:
    path = usable_history(history_path(os.environ))
    if path is None:
        say("note: the history of this session cannot be kept", to_stderr=True)
        return InMemoryHistory()
    return FileHistory(str(path))


class _Completer(Completer):
    """Hands the line to ``completer``. A graph that cannot be read offers nothing: the next query reports it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Offer]:
        try:
            found = candidates(self._session, document.text, document.cursor_position)
        except OmnigraphError:
            return
        for item in found.candidates:
            detail = f"{item.kind.value} {item.detail}" if item.detail else item.kind.value
            yield Offer(item.text, found.start - document.cursor_position, display_meta=detail)
