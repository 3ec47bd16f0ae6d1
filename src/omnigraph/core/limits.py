"""Limits of the languages and of the change feed, with unit and reason.

A package keeps its limits in its own ``limits.py``; ``core`` holds those that several packages share. A constant of one
module's own (a batch size, a number of retries) stays in that module; a threshold that tests vary is a field of
``core.tuning``. No limit is tuned per machine: it exists so that a mistake or an attack ends in a clear error before it
exhausts the process. ``docs/user/limits.md`` lists the limits a user can reach; change both together.
"""

from __future__ import annotations

from typing import Final

SOURCE_CHARS_MAX: Final = 8 * 1024 * 1024
"""Characters of one .pg or .gq text. A longer text is not a schema or a query."""

NESTING_MAX: Final = 64
"""Depth of nested expressions, lists and blocks. The parsers recurse; Python's own stack must never be the limit."""

EXPRESSION_OPERATORS_MAX: Final = 128
"""Operators in one expression. A chain of them is a tree as deep as it is long, and every pass recurses over it."""

DIAGNOSTICS_MAX: Final = 100
"""Diagnostics of one compilation. The last one states how many were left out."""

VECTOR_DIMENSION_MAX: Final = 2**31 - 1
"""Numbers in one vector: the width of Lance's and Arrow's fixed-size list."""

CARDINALITY_MAX: Final = 2**32 - 1
"""Bounds of ``@card``: an unsigned 32-bit number, as in the reference."""

INTEGER_LITERAL_MAX: Final = 2**64 - 1
"""Largest integer literal: the largest U64."""

EDGE_PAIRS_MAX: Final = 4_096
"""Pairs of node types that one edge type may connect. Each can have neighbour lists of its own."""

TYPE_COMBINATIONS_MAX: Final = 128
"""Concrete patterns that one query over interfaces, any type or any edge may stand for, and reads of a union. Each is
planned and run."""

PATTERNS_MAX: Final = 128
"""Bindings, traversals and inner blocks of one query. Each becomes a level of the operator tree, which passes walk by
recursion; filters do not count."""

STAGES_MAX: Final = 16
"""Stages of one query. Each adds some levels to the operator tree."""

HOPS_MAX: Final = 64
"""Default upper bound of ``shortest``: no useful path in a property graph is longer."""

SUGGESTION_NAMES_MAX: Final = 2_000
"""Names compared for a "did you mean": the comparison is quadratic in their length."""

FEED_CHANGES_PER_PAGE: Final = 1_000
"""Changes on one page of the change feed. Default."""

FEED_CHANGES_PER_PAGE_MAX: Final = 8_192
"""Largest page a reader may request: a page is held in memory."""

FEED_KEPT_BYTES: Final = 256 * 1024 * 1024
"""Memory for the changes of commits larger than a page, so that the next page does not compare them again."""

CURSOR_CHARS_MAX: Final = 4_096
"""Characters of a cursor. A genuine one has about 250."""

MOMENT_CHARS_MAX: Final = 1_024
"""Characters of a moment such as ``main~2``: a name, a time and some steps. Reading one takes quadratic time."""

MOMENT_STEPS_MAX: Final = 64
"""Steps (``~``, ``^``) of one moment. They are walked by recursion; ``~100`` is one step."""

BATCH_DOCUMENTS: Final = 1_000
"""Documents that are processed together. Default: a batch with its vectors is held in memory."""
