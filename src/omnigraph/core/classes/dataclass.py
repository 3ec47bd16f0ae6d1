"""``dataclass`` of the standard library, except that each method is compiled when it is first looked up.

The standard decorator compiles six methods of every class while its module is imported. A process that answers one
query imports some two hundred dataclasses and makes instances of few of them, so this took half of its start. Fields,
slots and match arguments are made by the standard decorator; methods behave as those that it compiles. Only
``InitVar`` and the options that are not parameters here need the standard one, and so does a class whose bases have it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass", "deferred"]

Method = Callable[..., Any]


class _Factory:
    """The default that a signature shows for a value that is made for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Final = _Factory()


def deferred(
    cls: type[Any] | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Any:
    """The decorator; type checkers take it for ``dataclasses.dataclass``."""

    def decorate(declared: type[Any]) -> type[Any]:
        own = vars(declared)
        wanted = {"__init__": True, "__repr__": repr, "__eq__": eq}
        pending = [name for name, is_wanted in wanted.items() if is_wanted and name not in own]
        # Python itself puts None there for a class that has __eq__ alone.
        has_hash = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
        if own.get("__doc__") is None:
            # The standard decorator would describe the signature, which takes longer than everything else here.
            declared.__doc__ = declared.__name__
        # Not frozen, because that compiles two methods; assignments are refused below.
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(declared)
        for name in pending:
            setattr(made, name, _Pending(made, name))
        if eq and not has_hash:
            setattr(made, "__hash__", _Pending(made, "__hash__") if frozen else None)  # noqa: B010 # checked as a method
        if frozen:
            _freeze(made, slots=slots)
        return made

    return decorate if cls is None else decorate(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = deferred


class _Pending:
    """Stands for a method until it is looked up, in the class or through an instance."""

    __slots__ = ("_name", "_owner")

    def __init__(self, owner: type[Any], name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        # Two threads may both compile it. Their methods are alike, and either may stay.
        method = _COMPILERS[self._name](self._owner)
        method.__name__, method.__module__ = self._name, self._owner.__module__
        method.__qualname__ = f"{self._owner.__qualname__}.{self._name}"
        setattr(self._owner, self._name, method)
        return method.__get__(instance, owner)


def _init(cls: type[Any]) -> Method:
    every = fields(cls)
    others = cls.__dataclass_fields__.keys() - {item.name for item in every}
    if any("InitVar" in str(cls.__dataclass_fields__[name].type) for name in others):
        raise TypeError(f"{cls.__qualname__} has an InitVar: decorate it with dataclasses.dataclass")
    is_frozen = getattr(cls, "__setattr__") is _refuse_assignment  # noqa: B009 # otherwise taken for a bound method
    has_slots = "__slots__" in vars(cls)
    known: dict[str, Any] = {"_set": object.__setattr__, "_FACTORY": _FACTORY}
    lines: list[str] = []
    positional: list[str] = []
    named: list[str] = []
    for item in every:
        value = item.name
        if item.default is not MISSING:
            known[f"_default_{item.name}"] = item.default
        if item.default_factory is not MISSING:
            known[f"_make_{item.name}"] = item.default_factory
            value = f"_make_{item.name}()" + (f" if {item.name} is _FACTORY else {item.name}" if item.init else "")
        elif not item.init:
            if item.default is MISSING or not has_slots:
                continue
            value = f"_default_{item.name}"
        if item.init:
            (named if item.kw_only else positional).append(_parameter(item))
        lines.append(f'_set(self, "{item.name}", {value})' if is_frozen else f"self.{item.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ["self", *positional, *(["*", *named] if named else ())]
    method = _compiled("__init__", parameters, lines or ["pass"], known)
    method.__annotations__ = {**{item.name: item.type for item in every if item.init}, "return": None}
    return method


def _parameter(item: Field[Any]) -> str:
    if item.default is not MISSING:
        return f"{item.name}=_default_{item.name}"
    return item.name if item.default_factory is MISSING else f"{item.name}=_FACTORY"


def _eq(cls: type[Any]) -> Method:
    compared = [item.name for item in fields(cls) if item.compare]
    lines = [
        "if other.__class__ is self.__class__:",
        f" return {_tuple('self', compared)} == {_tuple('other', compared)}",
        "return NotImplemented",
    ]
    return _compiled("__eq__", ["self", "other"], lines, {})


def _hash(cls: type[Any]) -> Method:
    hashed = [item.name for item in fields(cls) if (item.compare if item.hash is None else item.hash)]
    return _compiled("__hash__", ["self"], [f"return hash({_tuple('self', hashed)})"], {})


def _repr(cls: type[Any]) -> Method:
    shown = [item.name for item in fields(cls) if item.repr]

    def text(self: object) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in shown])
        return f"{type(self).__qualname__}({values})"

    return recursive_repr()(text)


_COMPILERS: Final[Mapping[str, Callable[[type[Any]], Method]]] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
}


def _tuple(of: str, names: Iterable[str]) -> str:
    return "(" + "".join(f"{of}.{name}," for name in names) + ")"


def _compiled(name: str, parameters: Iterable[str], lines: Iterable[str], known: dict[str, Any]) -> Method:
    exec(f"def {name}({', '.join(parameters)}):\n" + "".join(f" {line}\n" for line in lines), known)
    method: Method = known.pop(name)
    return method


def _refuse_assignment(self: object, name: str, value: object) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deletion(self: object, name: str) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(instance: object, name: str) -> bool:
    """True for every name, but in an ordinary class below a dataclass for the fields only."""
    cls: Any = type(instance)
    return "__dataclass_fields__" in vars(cls) or name in cls.__dataclass_fields__


def _values(self: Any) -> list[Any]:
    return [getattr(self, item.name) for item in fields(self)]


def _set_values(self: Any, values: Iterable[Any]) -> None:
    for item, value in zip(fields(self), values, strict=True):
        object.__setattr__(self, item.name, value)


def _freeze(made: Any, *, slots: bool) -> None:
    made.__setattr__, made.__delattr__ = _refuse_assignment, _refuse_deletion
    if slots:
        # Unpickling would assign.
        for name, method in (("__getstate__", _values), ("__setstate__", _set_values)):
            if name not in vars(made):
                setattr(made, name, method)
