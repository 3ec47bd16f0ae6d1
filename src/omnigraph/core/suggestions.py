"""Spelling suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.core.limits import SUGGESTION_NAMES_MAX

_CLOSE = 0.61
"""Similarity of a name that is suggested: above that of `Person` and `Json`."""


def did_you_mean(wrong: str, names: Iterable[str]) -> str | None:
    """A hint that names the most similar known name, or None if nothing is close."""
    # Keyed by lower case: a wrong capital letter is the most common misspelling, and difflib counts it as an edit.
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.lower(), name)
        if len(folded) >= SUGGESTION_NAMES_MAX:
            break
    import difflib

    close = difflib.get_close_matches(wrong.lower()[:100], list(folded), n=1, cutoff=_CLOSE)
    return f"did you mean `{folded[close[0]]}`?" if close else None
