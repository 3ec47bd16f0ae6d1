"""The modes of a load."""

from __future__ import annotations

from enum import Enum

from omnigraph.rows.omissions import Omissions


class LoadMode(Enum):
    """Treatment of entities that exist already."""

    UPSERT = "upsert"
    """Sets the properties that the input names; others keep their values. Missing entities are inserted."""
    UPDATE = "update"
    """The same, but a missing entity is a violation."""
    MERGE = "merge"
    """An entity replaces the one with its id; properties that it does not mention become null."""
    APPEND = "append"
    """An existing id, or a duplicate in the input, is an error."""
    OVERWRITE = "overwrite"
    """The types in the input hold exactly the input afterwards; other types stay."""

    @property
    def omissions(self) -> Omissions:
        """The treatment of properties that a row does not name."""
        match self:
            case LoadMode.UPSERT | LoadMode.UPDATE:
                return Omissions.ALLOWED
            case LoadMode.MERGE:
                return Omissions.NOTED
            case LoadMode.APPEND | LoadMode.OVERWRITE:
                return Omissions.IGNORED

    @property
    def is_partial(self) -> bool:
        """True if an entity keeps the properties that its row does not name."""
        return self.omissions is Omissions.ALLOWED

    @property
    def takes_repeats(self) -> bool:
        """True if several rows may have one id that no key derives: the later one counts."""
        return self.is_partial or self is LoadMode.MERGE
