"""Collection of the semantic errors of a schema.

After a syntax error the tree is incomplete: an unknown name may be declared in the part that was skipped. Therefore
``unresolved`` reports nothing then.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from omnigraph.core.limits import SUGGESTION_NAMES_MAX
from omnigraph.core.suggestions import did_you_mean
from omnigraph.lang.diagnostics import Diagnostic, Diagnostics, Severity
from omnigraph.lang.source import Source, Span
from omnigraph.schema.codes import Rule

NAMES_COMPARED_MAX: Final = 20_000
"""Names compared for all hints of one text, about half a second: a large invalid file must not take minutes."""


class Findings:
    """The errors of one schema text."""

    def __init__(
        self, source: Source, *, is_partial: bool = False, kept_annotations: Collection[str] = frozenset()
    ) -> None:
        self._diagnostics = Diagnostics(source)
        self._is_partial = is_partial
        self.kept_annotations = kept_annotations
        self._names_compared = 0

    def error(self, rule: Rule, message: str, span: Span, hint: str | None = None) -> None:
        self._diagnostics.error(rule.code, message, span, hint)

    def unresolved(self, rule: Rule, message: str, span: Span, hint: str | None = None) -> None:
        """Report an unknown name, but only if the whole text was parsed."""
        if not self._is_partial:
            self.error(rule, message, span, hint)

    def suggest(self, wrong: str, names: Collection[str]) -> str | None:
        """A "did you mean" hint, within the budget of ``NAMES_COMPARED_MAX``."""
        self._names_compared += min(len(names), SUGGESTION_NAMES_MAX)
        if self._is_partial or self._names_compared > NAMES_COMPARED_MAX:
            return None
        return did_you_mean(wrong, names)

    def report(self) -> tuple[Diagnostic, ...]:
        """Diagnostics in the order of the text; the note about omitted ones stays last."""
        return tuple(sorted(self._diagnostics.report(), key=lambda item: (item.severity is Severity.INFO, item.span)))
