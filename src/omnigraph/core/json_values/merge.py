"""Three-way merge of JSON values, member by member."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from omnigraph.core.json_values.texts import Step, json_text, path_text, read_json

_MISSING: Final = object()
"""The value of a member that an object does not have."""


@dataclass(frozen=True, slots=True)
class MergedJson:
    """The merged text, None for no value; or the path at which both sides made different changes."""

    text: str | None = None
    conflict: str | None = None


class _Conflict(Exception):
    def __init__(self, path: tuple[Step, ...]) -> None:
        super().__init__()
        self.path = path


def merge_json(base: str | None, source: str | None, target: str | None) -> MergedJson:
    """The merge of two values over their base. Objects are merged by member, other values as a whole.

    >>> merge_json('{"a":1,"b":1}', '{"a":2,"b":1}', '{"a":1,"b":1,"c":3}')
    MergedJson(text='{"a":2,"b":1,"c":3}', conflict=None)
    >>> merge_json('{"a":{"x":1}}', '{"a":{"x":2}}', '{"a":{"x":3}}').conflict
    'a.x'
    """
    before, left, right = (_MISSING if text is None else read_json(text) for text in (base, source, target))
    try:
        merged = _merged(before, left, right, ())
    except _Conflict as conflict:
        return MergedJson(conflict=path_text(conflict.path))
    return MergedJson(None if merged is _MISSING else json_text(merged))


def _merged(base: Any, source: Any, target: Any, path: tuple[Step, ...]) -> Any:
    if _same(source, target) or _same(base, source):
        return target
    if _same(base, target):
        return source
    if not isinstance(source, dict) or not isinstance(target, dict):
        raise _Conflict(path)
    before = base if isinstance(base, dict) else {}
    made: dict[str, Any] = {}
    for name in {**source, **target, **before}:
        old, left, right = (side.get(name, _MISSING) for side in (before, source, target))
        member = _merged(old, left, right, (*path, name))
        if member is not _MISSING:
            made[name] = member
    return made


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON values: true is not 1."""
    if left is _MISSING or right is _MISSING:
        return left is right
    return left is right or json_text(left) == json_text(right)
