"""The table of schema rules: one stable code per rule.

``S1xx`` are errors, found when a schema is checked or identified; ``S2xx`` are findings of the linter. The codes are
public: programs match on them and ``docs/user/schema.md`` explains each. A code is never given a second meaning.
"""

from __future__ import annotations

from enum import Enum


class Rule(Enum):
    """A rule of the schema language: its code and what breaking it means."""

    DUPLICATE_TYPE = ("S101", "two types of one kind have the same name")
    DUPLICATE_PROPERTY = ("S102", "a type declares a property twice")
    UNKNOWN_INTERFACE = ("S103", "`implements` names an interface that does not exist")
    INTERFACE_TYPE_CLASH = ("S104", "a node declares a property with another type than its interface")
    INTERFACES_DISAGREE = ("S105", "two interfaces bring the same property with different semantics")
    UNKNOWN_ENDPOINT = (
        "S106",
        "an edge starts or ends at something that is neither a node type nor an interface of one",
    )
    EDGE_CASE_COLLISION = ("S107", "two edge types differ only in upper and lower case")
    SYSTEM_COLUMN = ("S108", "a property has the name of a system column of the storage")
    ENTITY_FIELD = ("S109", "a property has the name of a field that every node or edge has")
    LIST_OF_BLOB = ("S110", "a list cannot hold Blobs")

    MULTIPLE_KEYS = ("S111", "a node type has more than one key")
    NULLABLE_KEY = ("S112", "a key property is nullable")
    UNKNOWN_PROPERTY = ("S113", "a constraint names a property that does not exist")
    CONSTRAINT_TYPE = ("S114", "a property of this type cannot be in such a constraint")
    RANGE_TYPE = ("S115", "`@range` on something that is not a number")
    CHECK_TYPE = ("S116", "`@check` on something that is not a String")
    CONSTRAINT_ON_EDGE = ("S117", "edges have no `@range` and `@check`, and no bare `@key`")
    CONSTRAINT_ARGUMENTS = ("S118", "a constraint has the wrong arguments")
    CHECK_PATTERN = ("S119", "the pattern of a `@check` is not a valid regular expression")

    UNKNOWN_ANNOTATION = ("S120", "an annotation that the schema language does not define")
    MISPLACED_ANNOTATION = ("S121", "an annotation stands where it has no meaning")
    REPEATED_ANNOTATION = ("S122", "an annotation is written twice")
    ANNOTATION_ARGUMENTS = ("S123", "an annotation has the wrong arguments")
    EMBED_TYPE = ("S124", "`@embed` on something that is not a Vector")
    EMBED_SOURCE_UNKNOWN = ("S125", "`@embed` names a source property that does not exist")
    EMBED_SOURCE_TYPE = ("S126", "the source of an `@embed` is not a String")
    MERGE_POLICY = ("S127", "`@merge` names an unknown policy")
    MERGE_TYPE = ("S128", "the merge policy does not fit the type of the property")
    MERGE_ON_KEY = ("S129", "a key property cannot have a merge policy")
    EXTERNAL_ADDRESS = ("S130", "the address of an `@external` is relative, or holds credentials")

    RENAME_UNKNOWN = ("S131", "`@rename_from` names something the accepted schema does not have")
    RENAME_KIND = ("S132", "`@rename_from` names a type of another kind")
    RENAME_OWNER = ("S133", "`@rename_from` names a property of another type")
    RENAME_IN_NEW_TYPE = ("S134", "`@rename_from` on a property of a type that is new")
    RENAME_TWICE = ("S135", "two declarations continue the same accepted type or property")

    TOO_MANY_ENDS = ("S136", "an edge type connects more pairs of node types than the limit")

    NO_KEY = ("S201", "a node type without a key: its ids are minted, and loading twice stores twice")
    UNUSED_INTERFACE = ("S202", "an interface that no node type implements")
    EMPTY_RANGE = ("S205", "a `@range` that no number satisfies")
    INERT_RENAME = ("S206", "a rename hint without effect")
    COMPOSITE_INDEX = ("S207", "an `@index` over several properties has no physical effect")
    UNINDEXED_VECTOR = ("S208", "an embedded vector without an index: search reads every entity")
    UNIQUE_NEVER_HOLDS = ("S209", "a `@unique` over a list or vector refuses every value that is not null")
    WRITTEN_TWICE = ("S210", "something is written twice and counts once")
    EXTERNAL_INDEX = ("S211", "an `@index` of an external type has no effect")

    def __init__(self, code: str, meaning: str) -> None:
        self.code = code
        self.meaning = meaning
