"""Judgement of error messages: each names the wrong value, and what to do next, in our own words."""

import re

from click.testing import Result

from omnigraph.errors import CompileError, OmnigraphError

_NOISE = re.compile(r"Traceback|object at 0x|KeyError|AttributeError|pyarrow\.|ArrowInvalid|lance_|_duckdb|None\.")
"""Words that only a programmer of the package understands."""

CHARS_MAX = 1_500
"""Characters of a message that a person still reads."""


def judge(error: BaseException, value: str) -> None:
    """Fail unless an error is one of the tree, names the value, and says what to do next."""
    assert isinstance(error, OmnigraphError), f"foreign: {type(error).__name__}: {error}"
    assert type(error) is not OmnigraphError
    text = str(error)
    assert value in text, f"the value {value!r} is not named: {text}"
    assert has_next_step(error), f"no next step: {text}"
    assert not _NOISE.search(text), text
    assert len(text) <= CHARS_MAX
    assert error.message[0] not in " \n"
    assert not error.message.endswith(".")


def has_next_step(error: OmnigraphError) -> bool:
    """True for an error with a hint. A diagnostic points at the place, and may name what fits there instead."""
    if isinstance(error, CompileError):
        return any("hint: " in item.render() or "expected" in item.message for item in error.diagnostics)
    return bool(error.hint) and bool(error.command_hint)


def judge_output(result: Result, value: str, exit_code: int = 1) -> None:
    """Fail unless a run of the command line failed with a message of that kind on standard error."""
    assert result.exit_code == exit_code, (result.exit_code, result.output)
    assert result.stdout == "", result.stdout
    assert value in result.stderr, result.stderr
    assert re.search(r"error(\[\w+\])?: ", result.stderr), result.stderr
    assert re.search(r"hint: |expected", result.stderr), result.stderr
    assert not _NOISE.search(result.stderr), result.stderr
