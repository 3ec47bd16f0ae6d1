"""Patterns of checks find in Python what they find in Rust, or are refused."""

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
    ],
)
def test_a_pattern_finds_what_it_finds_in_rust(pattern: str, found: list[str], not_found: list[str]) -> None:
    compiled = compile_pattern(pattern)
    assert [text for text in found if not compiled.search(text)] == []
    assert [text for text in not_found if compiled.search(text)] == []


@pytest.mark.parametrize(
    ("pattern", "gist"),
    [
        ("(?=a)", "look-ahead"),
        ("(?!a)", "look-ahead"),
        ("(?<=a)", "look-behind"),
        ("(?<!a)", "look-behind"),
        (r"(a)\1", "back-references"),
        (r"\k<a>", "back-references"),
        ("(?P<a>b)(?P=a)", "a back-reference"),
        ("(?>a)", "atomic group"),
        ("(?#note)", "a comment"),
        ("(?(1)a)", "a conditional"),
        ("(?x)a b", "the flag `x`"),
        ("(?ii)a", "a flag is written twice"),
        ("(?)a", "a group without flags"),
        ("(?~a)", "unknown kind of group"),
        ("(?<a>b)(?<a>c)", "two groups are called `a`"),
        ("(a", "never closed"),
        ("a)", "closes nothing"),
        ("[a", "a character class is never closed"),
        ("[a&&b]", "`&&`"),
        ("[a[^b]]", "a negated class inside"),
        ("[[:^alpha:]]", "is not supported"),
        ("[b-a]", "from a lower to a higher"),
        (r"[a-\d]", "from a lower to a higher"),
        ("a{", "escape it"),
        ("a{x}", "escape it"),
        ("*a", "nothing to repeat"),
        ("(|*)", "nothing to repeat"),
        (r"\Z", r"the end of the text is `\z`"),
        (r"\e", "unknown escape"),
        ("\\", "ends in a backslash"),
        (r"\p{Greek}", "unknown Unicode class `Greek`"),
        (r"\x{D800}", "is not a character"),
        (r"\xZZ", "needs hexadecimal digits"),
        ("(" * 100 + ")" * 100, "nested deeper than"),
        ("a" + "*" * 100, "nested deeper than"),
        ("a" * (PATTERN_CHARS_MAX + 1), "at most"),
        ("a{3,2}", "min repeat greater than max repeat"),
    ],
)
def test_a_pattern_rust_or_we_do_not_know_is_refused_with_a_reason(pattern: str, gist: str) -> None:
    assert gist in (pattern_problem(pattern) or "")
    with pytest.raises(InputError, match="is invalid"):
        compile_pattern(pattern)


@given(st.text(alphabet=st.sampled_from("ab[]()^$|*+?{}.,\\-&~:<>=!Pimsux0123dwszpLZ#\n ä"), max_size=30))
def test_any_pattern_is_compiled_or_refused(pattern: str) -> None:
    # Warnings are errors in this suite, so this also says that nothing ambiguous reaches Python's compiler.
    if pattern_problem(pattern) is None:
        compile_pattern(pattern)
