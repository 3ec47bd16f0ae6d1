"""Phrases that hide the field's term may only become fewer: the budget follows the count down."""

from pathlib import Path

from tests.architecture.english import places

BUDGET = 0


def verdict(found: int, budget: int) -> str | None:
    """The mismatch of a count with the budget; None if they are equal."""
    if found > budget:
        return f"{found} phrases, at most {budget}: `python -m tests.architecture.english` lists them with their lines"
    if found < budget:
        return f"fewer phrases than the budget: lower the budget to {found}"
    return None


def test_the_number_of_banned_phrases_is_the_budget() -> None:
    assert verdict(sum(1 for _ in places()), BUDGET) is None


def test_more_phrases_fail_and_fewer_ask_for_a_lower_budget() -> None:
    assert verdict(5, 5) is None
    assert verdict(6, 5) == "6 phrases, at most 5: `python -m tests.architecture.english` lists them with their lines"
    assert verdict(4, 5) == "fewer phrases than the budget: lower the budget to 4"


def test_phrases_and_openings_are_found_with_their_lines(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text('"""What this owns."""\n\n# A row that nobody\n# asked for.\n', encoding="utf-8")
    assert [(line, phrase) for _, line, phrase in places([page])] == [(3, "nobody"), (4, "asked"), (1, '"""What')]
