"""Patterns of ``@check``: written in the dialect of Rust's ``regex`` crate, run by Python's ``re``.

Translates what differs (``$`` and ``\\z``, ``(?<name>...)``, flags in the middle, ``\\p{L}``, ``[:alpha:]``,
``\\x{..}``) and refuses what Rust does not know (look-around, back-references, atomic groups), so that a schema
accepted here means the same elsewhere. Verbose mode, swapped greed and set operations inside classes are refused
too: nobody writes them in a check. Groups are never read back, so every group becomes a plain one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from omnigraph.core.limits import NESTING_MAX
from omnigraph.errors import InputError
from omnigraph.schema.unicode_classes import POSIX_CLASSES, categories_named, class_body

PATTERN_CHARS_MAX: Final = 10_000
"""Characters of one pattern. Compiling is slow in their number, and a longer one is data, not a rule."""

_SAME_IN_BOTH: Final = frozenset("dDwWsSafnrtv")
_ASSERTIONS: Final = {
    "A": "\\A",
    "z": "\\Z",
    "b": "\\b",
    "B": "\\B",
    "<": "(?:(?<!\\w)(?=\\w))",
    ">": "(?:(?<=\\w)(?!\\w))",
    "b{start}": "(?:(?<!\\w)(?=\\w))",
    "b{end}": "(?:(?<=\\w)(?!\\w))",
    "b{start-half}": "(?:(?<!\\w))",
    "b{end-half}": "(?:(?!\\w))",
}
_HEX_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
_COUNTED = re.compile(r"\{(?:\d{1,9}(?:,\d{0,9})?|,\d{1,9})\}")
_GROUP_NAME = re.compile(r"\?P?<([A-Za-z_][A-Za-z0-9_.\[\]]*)>")
_GROUP_FLAGS = re.compile(r"\?([A-Za-z]*)(?:-([A-Za-z]+))?([:)])")
_POSIX = re.compile(r"\[:(\^?)(\w+):\]")
_REFUSED_GROUPS: Final = (
    ("?=", "look-ahead"),
    ("?!", "look-ahead"),
    ("?<=", "look-behind"),
    ("?<!", "look-behind"),
    ("?P=", "a back-reference"),
    ("?>", "an atomic group"),
    ("?#", "a comment"),
    ("?(", "a conditional"),
)


class PatternProblem(Exception):
    """What is wrong with a pattern, and where in it; never leaves this module."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} (at character {offset + 1} of the pattern)")


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern, ready to ``search``. Accepted schemas hold only patterns for which this succeeds."""
    problem = pattern_problem(pattern)
    if problem is not None:
        raise InputError(f"the pattern {pattern[:100]!r} is invalid: {problem}", pattern=pattern)
    return re.compile(translate(pattern))


def pattern_problem(pattern: str) -> str | None:
    """Why a pattern cannot be used, or None if it can."""
    if len(pattern) > PATTERN_CHARS_MAX:
        return f"it has {len(pattern)} characters, at most {PATTERN_CHARS_MAX} are allowed"
    try:
        re.compile(translate(pattern))
    except PatternProblem as problem:
        return str(problem)
    except (re.error, OverflowError) as problem:
        return str(problem)
    return None


def translate(pattern: str) -> str:
    """The Python pattern that finds what the Rust pattern finds."""
    return _Translation(pattern).run()


@dataclass(slots=True)
class _Frame:
    """An open group: where it starts in the output, the flags in force, and the scopes opened inside it."""

    start: int
    multiline: bool
    scopes: list[str] = field(default_factory=list)


class _Translation:
    """One pass over a pattern. ``_atom`` is where the last thing that can be repeated starts in the output."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._out: list[str] = []
        self._frames = [_Frame(0, multiline=False)]
        self._names: set[str] = set()
        self._multiline = False
        self._atom: int | None = None
        self._quantified = False
        self._depth = 0

    def run(self) -> str:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        if len(self._frames) > 1:
            raise self._problem("a group is never closed")
        return "".join(self._out) + ")" * len(self._frames[0].scopes)

    def _problem(self, message: str) -> PatternProblem:
        return PatternProblem(message, min(self._at, max(0, len(self._text) - 1)))

    def _step(self, char: str) -> None:
        match char:
            case "\\":
                self._escape()
            case "[":
                body, negated = self._class()
                self._emit(f"[{'^' if negated else ''}{body}]")
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                self._alternative()
            case "*" | "+" | "?":
                self._quantifier(char)
            case "{":
                self._counted()
            case "$":
                self._at += 1
                self._emit("$" if self._multiline else "\\Z")
            case "^" | ".":
                self._at += 1
                self._emit(char)
            case _:
                self._at += 1
                self._emit(re.escape(char))

    def _emit(self, translated: str) -> None:
        self._atom = len(self._out)
        self._quantified = False
        self._out.append(translated)

    def _deeper(self) -> None:
        # Python's own compiler recurses over groups; Rust has a nesting limit for the same reason.
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise self._problem(f"nested deeper than {NESTING_MAX} levels")

    # --- groups ----------------------------------------------------------------------------------------

    def _open(self) -> None:
        rest = self._text[self._at + 1 : self._at + 5]
        for opening, what in _REFUSED_GROUPS:
            if rest.startswith(opening):
                raise self._problem(f"{what} is not supported")
        self._deeper()
        named = _GROUP_NAME.match(self._text, self._at + 1)
        flagged = _GROUP_FLAGS.match(self._text, self._at + 1)
        if not rest.startswith("?"):
            self._at += 1
            self._push("(?:")
        elif named:
            if named.group(1) in self._names:
                raise self._problem(f"two groups are called `{named.group(1)}`")
            self._names.add(named.group(1))
            self._at = named.end()
            self._push("(?:")
        elif flagged:
            self._flags(flagged)
        else:
            raise self._problem("unknown kind of group")

    def _push(self, opening: str) -> None:
        self._frames.append(_Frame(len(self._out), self._multiline))
        self._out.append(opening)
        self._atom = None

    def _flags(self, flagged: re.Match[str]) -> None:
        on, off = flagged.group(1), flagged.group(2) or ""
        for flag in on + off:
            if flag not in "imsu":
                raise self._problem(f"the flag `{flag}` is not supported; the known ones are i, m, s and u")
        if len(set(on + off)) < len(on + off):
            raise self._problem("a flag is written twice")
        is_scope = flagged.group(3) == ")"
        if is_scope and not on + off:
            raise self._problem("a group without flags")
        # Without Unicode, classes such as \w are ASCII only; Python turns that on instead of Unicode off.
        on, off = on + ("a" if "u" in off else ""), off.replace("u", "")
        opening = f"(?{on}{'-' + off if off else ''}:"
        self._at = flagged.end()
        if is_scope:
            self._frames[-1].scopes.append(opening)
            self._out.append(opening)
            self._atom = None
        else:
            self._push(opening)
        self._multiline = "m" in on or (self._multiline and "m" not in off)

    def _close(self) -> None:
        if len(self._frames) == 1:
            raise self._problem("`)` closes nothing")
        self._at += 1
        frame = self._frames.pop()
        self._out.append(")" * (len(frame.scopes) + 1))
        self._depth -= len(frame.scopes) + 1
        self._multiline = frame.multiline
        self._atom = frame.start
        self._quantified = False

    def _alternative(self) -> None:
        # A flag in the middle holds for the alternatives that follow as well.
        self._at += 1
        scopes = self._frames[-1].scopes
        self._out.append(")" * len(scopes) + "|" + "".join(scopes))
        self._atom = None

    # --- repetition ------------------------------------------------------------------------------------

    def _counted(self) -> None:
        counted = _COUNTED.match(self._text, self._at)
        if counted is None:
            raise self._problem("`{` must start a repetition such as `{2,5}`; escape it to mean the character")
        self._quantifier(counted.group())

    def _quantifier(self, spelling: str) -> None:
        if self._atom is None:
            raise self._problem(f"nothing to repeat with `{spelling}`")
        if self._quantified:
            # Rust repeats the repetition; Python would read a possessive quantifier or fail.
            self._deeper()
            self._out[self._atom :] = [f"(?:{''.join(self._out[self._atom :])})"]
        self._at += len(spelling)
        if self._text.startswith("?", self._at):
            self._at += 1
            spelling += "?"
        self._out.append(spelling)
        self._quantified = True

    # --- escapes ---------------------------------------------------------------------------------------

    def _escape(self) -> None:
        escaped = self._text[self._at + 1 : self._at + 2]
        half = re.compile(r"b\{(?:start|end)(?:-half)?\}").match(self._text, self._at + 1)
        assertion = half.group() if half else escaped
        if assertion in _ASSERTIONS:
            self._at += 1 + len(assertion)
            self._emit(_ASSERTIONS[assertion])
            return
        body, is_class = self._escaped_member()
        self._emit(f"[{body}]" if is_class else re.escape(body))

    def _escaped_member(self) -> tuple[str, bool]:
        """An escape that may stand inside a class: a character, or the inside of a class."""
        escaped = self._text[self._at + 1 : self._at + 2]
        if not escaped:
            raise self._problem("the pattern ends in a backslash")
        if escaped in _SAME_IN_BOTH:
            self._at += 2
            return f"\\{escaped}", True
        if escaped in "pP":
            return self._unicode_class(), True
        if escaped in _HEX_DIGITS:
            return self._code_point(escaped), False
        if escaped.isdigit() or escaped == "k":
            raise self._problem("back-references are not supported")
        if escaped == "Z":
            raise self._problem("`\\Z` is unknown; the end of the text is `\\z`")
        if escaped.isalnum() or not escaped.isascii():
            raise self._problem(f"unknown escape `\\{escaped}`")
        self._at += 2
        return escaped, False

    def _code_point(self, letter: str) -> str:
        braces = re.compile(r"\{([0-9A-Fa-f]{1,8})\}").match(self._text, self._at + 2)
        digits = re.compile(f"[0-9A-Fa-f]{{{_HEX_DIGITS[letter]}}}").match(self._text, self._at + 2)
        found = braces or digits
        if found is None:
            raise self._problem(f"`\\{letter}` needs hexadecimal digits")
        code = int(braces.group(1) if braces else found.group(), 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise self._problem(f"{code:X} is not a character")
        self._at = found.end()
        return chr(code)

    def _unicode_class(self) -> str:
        found = re.compile(r"\\[pP](?:\{(\^?)([^{}]{1,60})\}|([A-Z]))").match(self._text, self._at)
        name = (found.group(2) or found.group(3)) if found else ""
        categories = categories_named(name)
        if found is None or not categories:
            raise self._problem(f"unknown Unicode class `{name}`; general categories such as \\p{{Lu}} are known")
        negated = (self._text[self._at + 1] == "P") != bool(found.group(1))
        self._at = found.end()
        return class_body(categories, negated)

    # --- character classes -----------------------------------------------------------------------------

    def _class(self) -> tuple[str, bool]:
        """The inside of a class, and whether it is negated."""
        self._deeper()
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        parts: list[str] = []
        is_first = True
        while is_first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise self._problem("a character class is never closed")
            parts.append(self._class_member(is_first=is_first))
            is_first = False
        self._at += 1
        self._depth -= 1
        return "".join(parts), negated

    def _class_member(self, *, is_first: bool) -> str:
        posix = _POSIX.match(self._text, self._at)
        if posix:
            return self._posix_class(posix)
        pair = self._text[self._at : self._at + 2]
        if pair in ("&&", "~~") or (pair == "--" and not is_first):
            raise self._problem(f"`{pair}` between character classes is not supported")
        if pair.startswith("["):
            body, negated = self._class()
            if negated:
                raise self._problem("a negated class inside a class is not supported")
            return body
        low, is_class = self._class_character()
        if is_class:
            return low
        after = self._text[self._at + 1 : self._at + 2]
        if not self._text.startswith("-", self._at) or after in ("", "]", "-"):
            return re.escape(low)
        self._at += 1
        high, is_class = self._class_character()
        if is_class or low > high:
            raise self._problem("a range in a character class must go from a lower to a higher character")
        return f"{re.escape(low)}-{re.escape(high)}"

    def _class_character(self) -> tuple[str, bool]:
        if self._text.startswith("\\", self._at):
            return self._escaped_member()
        self._at += 1
        return self._text[self._at - 1], False

    def _posix_class(self, posix: re.Match[str]) -> str:
        body = POSIX_CLASSES.get(posix.group(2))
        if body is None or posix.group(1):
            raise self._problem(f"`{posix.group()}` is not supported")
        self._at = posix.end()
        return body
