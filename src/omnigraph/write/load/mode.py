"""The modes of a load."""

from __future__ import annotations

from enum import Enum


class LoadMode(Enum):
    """Treatment of entities that exist already."""

    APPEND = "append"
    """An id that exists, or twice in the input, is an error."""
    MERGE = "merge"
    """An entity replaces the one with its id; properties that it does not mention become null."""
    OVERWRITE = "overwrite"
    """The types in the input hold exactly the input afterwards; other types stay."""
