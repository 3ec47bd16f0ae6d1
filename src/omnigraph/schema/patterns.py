"""Patterns of ``@check``, run by Rust's ``regex`` crate: the engine whose dialect the schema language documents.

The engine is a finite automaton. Time is linear in the text, and look-around and back-references, which need
backtracking, are refused when a schema is compiled. Python's ``re`` backtracks: ``(a+)+$`` takes exponential time.
RE2, which Arrow and DuckDB use, is linear too, but knows only ASCII in ``\\w``, ``\\d`` and ``\\b``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from omnigraph.errors import InputError

Finder = Callable[[str], bool]
"""A function that tells if a text contains a match."""

PATTERN_CHARS_MAX: Final = 10_000
"""Characters of one pattern. Compile time grows with it, and a longer pattern is data, not a rule."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Finder:
    """The search function of a pattern. Succeeds for every pattern of an accepted schema."""
    problem = pattern_problem(pattern)
    if problem is not None:
        raise InputError(f"the pattern {pattern[:100]!r} is invalid: {problem}", pattern=pattern)
    return _compile(pattern)


def pattern_problem(pattern: str) -> str | None:
    """The reason why a pattern is invalid, or None."""
    if len(pattern) > PATTERN_CHARS_MAX:
        return f"it has {len(pattern)} characters, at most {PATTERN_CHARS_MAX} are allowed"
    # Imported on first use: most schemas have no patterns, and the command line must start quickly.
    from pydantic_core import SchemaError

    try:
        _compile(pattern)
    except SchemaError as problem:
        return _reason(problem)
    return None


def _compile(pattern: str) -> Finder:
    from pydantic_core import SchemaValidator, core_schema

    # Explicit although it is the default: the alternative is Python's engine, which backtracks.
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")).isinstance_python


def _reason(problem: Exception) -> str:
    """The last line of the engine's report; the lines before it draw the pattern, which the diagnostic shows too."""
    line = str(problem).splitlines()[-1].strip()
    return line.removeprefix("SchemaError: ").removeprefix("error: ").rstrip(".")
