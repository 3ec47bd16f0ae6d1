"""Patterns of checks find what they find in Rust, in linear time, or are refused."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import InputError
from omnigraph.schema.patterns import PATTERN_CHARS_MAX, compile_pattern, pattern_problem


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        ("b", ["abc"], ["acd"]),
        (r"^\d{4}-\d{2}$", ["2024-01"], ["2024-01\n", "x2024-01"]),
        (r"a\z", ["a"], ["a\n"]),
        (r"(?m)^a$", ["x\na\ny"], ["xa"]),
        (r"(?<year>\d+)-(?P<month>\d+)", ["1-2"], ["1-"]),
        (r"^a(?i)b|c$", ["ab", "aB", "xC"], ["Ab"]),
        (r"^(a(?i)b)c$", ["aBc"], ["aBC"]),
        (r"(?s)a.b", ["a\nb"], ["ab"]),
        (r"^(?-u:\w)$", ["a"], ["ä"]),
        (r"^\w$", ["ä"], ["-"]),
        (r"^\p{Lu}\p{L}*$", ["Änne"], ["änne", "A1"]),
        (r"^\P{L}+$", ["12 -"], ["a"]),
        (r"^[\p{Nd}_]+$", ["1_2"], ["a"]),
        (r"^\pL$", ["x"], ["1"]),
        (r"^[[:alpha:]_-]+$", ["a_-B"], ["1", "ä"]),
        (r"^[]a]+$", ["]a"], ["b"]),
        (r"^[^]a-]+$", ["b"], ["]", "-"]),
        (r"^[a[0-9]]+$", ["a1"], ["b"]),
        (r"^[&a~|\[]+$", ["&a~|["], ["b"]),
        (r"^\x41\x{1F600}\u0042\u{43}$", ["A😀BC"], ["A"]),
        (r"^(?:ab){2,3}?$", ["abab"], ["ab"]),
        (r"^a**$", ["", "aaa"], ["b"]),
        (r"^(?:a++)b$", ["aab"], ["b"]),
        (r"\<a\>", ["x a y"], ["ba"]),
        (r"\b{start}ab\b{end}", ["ab"], ["abc"]),
        (r"a\.b\-c\/d", ["a.b-c/d"], ["axb-c/d"]),
        (r"}]", ["}]"], ["]"]),
        (r"a||b", [""], []),
        ("", ["", "x"], []),
        (r"\bété\b", ["un été chaud"], ["étés", "l'étéé"]),
        (r"^\d+$", ["12", "١٢"], ["½"]),
        (r"^(?i)straße$", ["STRAßE", "Straẞe"], ["STRASSE"]),
        (r"^\p{Greek}+$", ["αβγ"], ["abc"]),
        (r"(?x) ^ a b $ # spaces do not count", ["ab"], ["a b"]),
        (r"^[a-z&&[^aeiou]]+$", ["xyz"], ["abc"]),
    ],
)
def test_a_pattern_finds_what_it_finds_in_rust(pattern: str, found: list[str], not_found: list[str]) -> None:
    is_found = compile_pattern(pattern)
    assert [text for text in found if not is_found(text)] == []
    assert [text for text in not_found if is_found(text)] == []


@pytest.mark.parametrize(
    ("pattern", "gist"),
    [
        ("(?=a)", "look-around"),
        ("(?!a)", "look-around"),
        ("(?<=a)", "look-around"),
        ("(?<!a)", "look-around"),
        (r"(a)\1", "backreferences are not supported"),
        ("(?P<a>b)(?P=a)", "unrecognized flag"),
        ("(?>a)", "unrecognized flag"),
        ("(?#note)", "unrecognized flag"),
        ("(?(1)a)", "unrecognized flag"),
        ("(?ii)a", "duplicate flag"),
        ("(?<a>b)(?<a>c)", "duplicate capture group name"),
        ("(a", "unclosed group"),
        ("a)", "unopened group"),
        ("[a", "unclosed character class"),
        ("[b-a]", "the start must be <= the end"),
        ("a{", "unclosed counted repetition"),
        ("*a", "missing expression"),
        (r"\Z", "unrecognized escape sequence"),
        ("\\", "incomplete escape sequence"),
        (r"\p{Klingon}", "Unicode property not found"),
        (r"\x{D800}", "not a Unicode scalar value"),
        ("a{3,2}", "the start must be <= the end"),
        ("(" * 300 + ")" * 300, "maximum number of nested parentheses"),
        (r"\w{1,1000}", "exceeds size limit"),
        ("a" * (PATTERN_CHARS_MAX + 1), "at most"),
    ],
)
def test_a_pattern_that_rust_does_not_know_is_refused_with_a_reason(pattern: str, gist: str) -> None:
    assert gist in (pattern_problem(pattern) or "")
    with pytest.raises(InputError, match="is invalid"):
        compile_pattern(pattern)


@given(st.text(alphabet=st.sampled_from("ab[]()^$|*+?{}.,\\-&~:<>=!Pimsux0123dwszpLZ#\n ä"), max_size=30))
def test_any_pattern_is_compiled_or_refused(pattern: str) -> None:
    if pattern_problem(pattern) is None:
        compile_pattern(pattern)


_CATASTROPHIC = {"(a+)+$": "a" * 40 + "!", "(a|aa)+$": "a" * 60 + "!", r"^(\w+\s?)*$": "word " * 20 + "!"}

_TRY = """
import sys
from omnigraph.schema.patterns import compile_pattern
print(compile_pattern(sys.argv[1])(sys.argv[2]))
"""


@pytest.mark.parametrize("pattern", _CATASTROPHIC)
def test_no_pattern_takes_exponential_time(pattern: str) -> None:
    # A backtracking engine holds the interpreter for longer than any suite runs, so a child process tries it.
    command = [sys.executable, "-c", _TRY, pattern, _CATASTROPHIC[pattern]]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout.strip() == "False"
