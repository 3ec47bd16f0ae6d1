"""Limits of reading and reporting rows, with unit and reason. None of them limits how much can be loaded."""

from __future__ import annotations

from typing import Final

LINE_BYTES_MAX: Final = 32 * 1024 * 1024
"""Bytes of one JSON line. A line is parsed as a whole, so it has to fit in memory several times over."""

STRUCTURAL_TOKENS_MAX: Final = 131_072
"""Brackets, braces, commas and colons outside strings in one line: a tiny text must not become a huge tree."""

BLOCK_BYTES: Final = 4 * 1024 * 1024
"""Bytes of complete lines parsed together: enough to make columns worthwhile, little enough to parse twice."""

PARSE_BLOCK_BYTES: Final = 1024 * 1024
"""Bytes one thread of the columnar parser takes. A line longer than this is read by the exact path."""

RECORDS_PER_BLOCK: Final = 4096
"""Python records typed together: columns are built per block, so this bounds the Python objects alive."""

BATCH_ROWS: Final = 65_536
"""Rows of one emitted batch, by default."""

BATCH_BYTES: Final = 16 * 1024 * 1024
"""Bytes of one emitted batch: wide rows (vectors, blobs) must not make batches of gigabytes."""

PENDING_BYTES: Final = 64 * 1024 * 1024
"""Bytes waiting for full batches in all types together: a schema of a thousand types must not hold a thousand."""

SAMPLES_PER_KIND_MAX: Final = 20
"""Violations kept per code, table and property. Twenty show the pattern; the counts show the size."""

SAMPLES_MAX: Final = 100
"""Violations kept in total: enough for a reader; ``counts`` holds the rest."""

COUNTED_KINDS_MAX: Final = 1_000
"""Kinds counted separately. Misspelt names come from the input, which must not determine the memory used."""

SHOWN_CHARS_MAX: Final = 80
"""Characters of an offending value repeated in a message."""
