"""Statistics of tables: everything that the guesses are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.schema.types import PropertyType


@dataclass(frozen=True, slots=True)
class TextForms:
    """The number of values of a text column that are written in each form."""

    integers: int = 0
    """Integers without leading zeros or a plus sign, of any size."""
    decimals: int = 0
    """Finite numbers, integers included, without leading zeros."""
    booleans: int = 0
    dates: int = 0
    times: int = 0
    """ISO dates with a time of day."""
    integer_lists: int = 0
    """JSON arrays of integers; empty arrays count in each kind of list."""
    decimal_lists: int = 0
    """JSON arrays of numbers, integers included."""
    text_lists: int = 0
    """JSON arrays of strings."""
    objects: int = 0
    """JSON objects, and arrays that no property can hold."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column of a table: what its source declares, and what its values look like."""

    name: str
    position: int
    """Counted from 1."""
    declared: PropertyType | None
    """The type that the source states; None if no property can hold it."""
    held: str = "text"
    """The values in words, for messages."""
    is_written: bool = False
    """The format holds text only, as CSV does: forms of numbers and booleans count."""
    is_json: bool = False
    """Arrays and objects of a JSON file are text here; forms of lists count."""
    is_gapped: bool = False
    """Floats of a pandas frame that are all whole and partly missing: pandas stores integers with gaps so."""
    rows: int = 0
    present: int = 0
    """Rows with a value."""
    distinct: int = 0
    """Estimate of the number of different values."""
    forms: TextForms = TextForms()
    low: int | None = None
    high: int | None = None
    """Range of the integers of a text column."""
    lengths: tuple[int, int] | None = None
    """Shortest and longest list."""
    is_unique: bool = False
    """Every row has a value, and no two are equal. Counted exactly for columns that may be a key."""
    values: tuple[str, ...] = ()
    """All different values of a text column that has few."""

    @property
    def is_full(self) -> bool:
        """Every row has a value, and there is at least one row."""
        return 0 < self.rows == self.present


@dataclass(frozen=True, slots=True)
class Declared:
    """Facts that the header of a source states, as that of ``neo4j-admin import`` does, or the schema of the graph.

    None: to be guessed.
    """

    is_edge: bool | None = None
    key: str | None = None
    """The column that identifies a node."""
    is_keyless: bool = False
    """The type of the graph has no key, so none is guessed."""
    ids: str | None = None
    """The column of the ids, for such a type."""
    ends: tuple[str, str] | None = None
    """The columns of both ends of an edge."""
    end_types: tuple[str | None, str | None] = (None, None)
    types: Mapping[str, PropertyType] = field(default_factory=dict)
    """Types of columns."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of properties, by column, where the header states more than the name."""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One table: where it came from, the name that a caller gave its type, and its columns."""

    source: str
    """The file, or the name that a caller gave."""
    stem: str
    """The name that the type is derived from."""
    given_type: str | None
    rows: int
    columns: tuple[ColumnFacts, ...]
    declared: Declared = Declared()

    def column(self, name: str) -> ColumnFacts:
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of the values of a column with the key of a node type."""

    distinct: int
    """Different values of the column."""
    missing: int
    """Those among them that are no key."""

    @property
    def is_contained(self) -> bool:
        return self.distinct > 0 and self.missing == 0
