"""Every limit of the system, with its unit and its reason.

Nothing here is tuned per machine: a limit exists so that a mistake or an attack costs a clear error and not the
process. Change one here, and its documentation in ``docs/user/limits.md`` with it.
"""

from __future__ import annotations

from typing import Final

SOURCE_CHARS_MAX: Final = 8 * 1024 * 1024
"""Characters of one .pg or .gq text. Above it something other than a schema or a query was passed."""

NESTING_MAX: Final = 64
"""Depth of nested expressions, lists and blocks. The parsers recurse; Python's own stack must never be the limit."""

EXPRESSION_OPERATORS_MAX: Final = 128
"""Operators in one expression. A chain of them is a tree as deep as it is long, and every pass recurses over it."""

DIAGNOSTICS_MAX: Final = 100
"""Diagnostics of one compilation. More than that help nobody; the last one says how many were left out."""

VECTOR_DIMENSION_MAX: Final = 2**31 - 1
"""Numbers in one vector: the width of Lance's and Arrow's fixed-size list."""

CARDINALITY_MAX: Final = 2**32 - 1
"""Bounds of ``@card``: an unsigned 32-bit number, as in the reference."""

INTEGER_LITERAL_MAX: Final = 2**64 - 1
"""Largest integer literal: the largest U64."""

PATTERNS_MAX: Final = 128
"""Bindings, traversals and inner blocks of one query. Each becomes a level of the operator tree, which passes walk by
recursion; conditions do not count."""

HOPS_MAX: Final = 64
"""Default upper bound of ``shortest``: no useful path in a property graph is longer."""

SUGGESTION_NAMES_MAX: Final = 2_000
"""Names compared for a "did you mean": the comparison is quadratic in their length."""

FEED_CHANGES_PER_PAGE: Final = 1_000
"""Changes on one page of the change feed if the reader does not say how many."""

FEED_CHANGES_PER_PAGE_MAX: Final = 8_192
"""The most that a reader may ask for: a page is held in memory."""

FEED_BYTES_PER_PAGE: Final = 4 * 1024 * 1024
"""Bytes after which a page ends, about. A single change that is larger comes alone."""

FEED_COMMITS_PER_PAGE: Final = 128
"""Commits on one page: each is compared with its parent before anything is answered."""

FEED_KEPT_BYTES: Final = 256 * 1024 * 1024
"""Memory for the changes of commits that are larger than a page, so that reading on does not compare them again."""

CURSOR_CHARS_MAX: Final = 4_096
"""Characters of a cursor. Ours have about 250."""
