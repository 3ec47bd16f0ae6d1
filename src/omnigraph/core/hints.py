"""Hints that several packages give, each for a Python program and for the command line."""

from __future__ import annotations

from omnigraph.errors import Hint

BRANCHES_HINT = Hint("graph.branches() lists them", "omnigraph branch list shows them")


def verify_hint(lists: str) -> Hint:
    """The advice to verify a damaged graph; ``lists`` says what the report holds."""
    return Hint(f"graph.verify() {lists}", f"omnigraph verify {lists}")


def commits_hint(branch: str, remark: str = "") -> Hint:
    """The advice to list the commits of a branch."""
    return Hint(
        f"graph.commits({branch!r}) lists its commits{remark}",
        f"omnigraph commit list --branch {branch} shows its commits{remark}",
    )
