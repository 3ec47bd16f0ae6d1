"""Checks of the arguments of public functions: unknown options, missing ones, and values of a wrong type.

The annotations are the rule. Types that are written with plain words (``str``, ``int | None``, ``Mapping[str, str]``)
are checked; an argument with any other type is left to the function. So no value that an annotation allows is refused.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from numbers import Integral, Real
from typing import Any, Final, ParamSpec, TypeVar

from omnigraph.core.actors import Actor
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

VALUE_CHARS_MAX: Final = 60


def _is_list(value: object) -> bool:
    """Any sequence but a text, which would be taken apart into its characters."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


_CHECKS: Final[Mapping[str, tuple[str, Callable[[object], bool]]]] = {
    "None": ("None", lambda value: value is None),
    "str": ("a text", lambda value: isinstance(value, str)),
    "bool": ("True or False", lambda value: isinstance(value, bool | Integral)),
    "int": ("a whole number", lambda value: isinstance(value, Integral) and not isinstance(value, bool)),
    "float": ("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    "datetime": ("a datetime", lambda value: isinstance(value, date)),
    "Mapping": ("a dict", lambda value: isinstance(value, Mapping)),
    "Sequence": ("a list", _is_list),
    "list": ("a list", _is_list),
    "Callable": ("a function", callable),
    "Caller": ("the id of an actor or an Actor", lambda value: value is None or isinstance(value, str | Actor)),
    "Actor": ("an Actor", lambda value: isinstance(value, Actor)),
    "os.PathLike": ("a path", lambda value: isinstance(value, os.PathLike)),
    "threading.Event": ("a threading.Event", lambda value: isinstance(value, threading.Event)),
}
"""The words of annotations: how a message says them, and the values that fit."""


_USUAL: Final[Mapping[str, tuple[type, ...]]] = {
    "None": (type(None),),
    "str": (str,),
    "bool": (bool, int),
    "int": (int,),
    "float": (float, int),
    "Mapping": (dict,),
    "Sequence": (list, tuple),
    "list": (list, tuple),
    "Caller": (type(None), str),
}
"""Types whose values fit without a check: those that most calls pass. The checks of ABCs take as long as a look-up."""


def checked(function: Callable[P, R], shown: str | None = None) -> Callable[P, R]:
    """Check the arguments of a public function before it runs. ``shown`` is the name that callers write."""
    arguments = Arguments(function, shown or f"omnigraph.{function.__name__.removesuffix('_graph')}")

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        arguments.bind(args, kwargs)
        return function(*args, **kwargs)

    return call


def checked_methods(shown: str) -> Callable[[type[T]], type[T]]:
    """Check the arguments of every public method of a class. ``shown`` is an instance as callers write it."""

    def decorate(decorated: type[T]) -> type[T]:
        for name, member in list(vars(decorated).items()):
            if inspect.isfunction(member) and not name.startswith("_"):
                setattr(decorated, name, checked(member, f"{shown}.{name}"))
        return decorated

    return decorate


_READ: Final = frozenset({"_signature", "_wanted", "_several", "_is_plain", "_in_order", "_names", "_required"})


class Arguments:
    """The arguments that one function takes, read from its signature when the first of them are bound."""

    def __init__(self, function: Callable[..., object], shown: str, signature: inspect.Signature | None = None) -> None:
        self._function = function
        self._name = shown
        self._given_signature = signature

    def __getattr__(self, name: str) -> Any:
        # Reached once, before the first call has read the signature: a process calls few of a hundred public methods,
        # and reading all signatures took a tenth of its start.
        if name not in _READ:
            raise AttributeError(name)
        self._read()
        return self.__dict__[name]

    def _read(self) -> None:
        self._signature = self._given_signature or inspect.signature(self._function)
        parameters = self._signature.parameters.values()
        self._wanted = {item.name: wanted for item in parameters if (wanted := _wanted(item)) is not None}
        self._several = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
        kinds = {item.kind for item in parameters}
        self._is_plain = kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
        self._in_order = [item.name for item in parameters if item.kind is not inspect.Parameter.KEYWORD_ONLY]
        self._names = frozenset(item.name for item in parameters)
        self._required = frozenset(item.name for item in parameters if item.default is inspect.Parameter.empty)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name. Raises ArgumentError for arguments that the function does not take."""
        given = self._by_name(args, kwargs)
        for name, value in given.items():
            wanted = self._wanted.get(name)
            if wanted is None or (type(value) in wanted[2] and name != self._several):
                continue
            for each in value if name == self._several else (value,):
                for fits in wanted[1]:
                    if fits(each):
                        break
                else:
                    raise ArgumentError(
                        f"{self._name}(): {name} must be {wanted[0]}, got the {type(each).__name__} {_shown(each)}",
                        hint=self._help(),
                        argument=name,
                    )
        return given

    def _by_name(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The result of ``inspect.Signature.bind``, which takes longer than many a query and handles other cases."""
        if self._is_plain and len(args) <= len(self._in_order) and kwargs.keys() <= self._names:
            given = dict(zip(self._in_order, args, strict=False))
            if given.keys().isdisjoint(kwargs):
                given.update(kwargs)
                if self._required <= given.keys():
                    return given
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise self._unfit(kwargs, str(error)) from None

    def missing(self, name: str) -> ArgumentError:
        """The error for an argument that is needed with the others that were given."""
        return ArgumentError(f"{self._name}() missing a required argument: {name!r}", hint=self._help(), argument=name)

    def _unfit(self, kwargs: Mapping[str, Any], reason: str) -> ArgumentError:
        options = [item.name for item in self._signature.parameters.values() if item.name != "self"]
        unknown = [name for name in kwargs if name not in options]
        if not unknown:
            return ArgumentError(f"{self._name}(): {reason}", hint=self._help())
        hint = did_you_mean(unknown[0], options) or f"its arguments are {', '.join(options)}"
        return ArgumentError(
            f"{self._name}() got an unexpected keyword argument {unknown[0]!r}", hint=hint, argument=unknown[0]
        )

    def _help(self) -> str:
        return f"help({self._name}) describes the arguments"


Wanted = tuple[str, list[Callable[[object], bool]], frozenset[type]]
"""The words of a parameter, its checks, and the types that pass them."""


def _wanted(parameter: inspect.Parameter) -> Wanted | None:
    """The rule of a parameter; None if its annotation has a word that is not known here."""
    if parameter.kind is parameter.VAR_KEYWORD or not isinstance(parameter.annotation, str):
        return None
    heads = [_head(part) for part in _alternatives(parameter.annotation)]
    if not all(head in _CHECKS for head in heads):
        return None
    usual = frozenset(type_ for head in heads for type_ in _USUAL.get(head, ()))
    return " or ".join(_CHECKS[head][0] for head in heads), [_CHECKS[head][1] for head in heads], usual


def _alternatives(annotation: str) -> list[str]:
    """The parts of a union: ``str | None`` has two, ``Callable[[int | str], None]`` is one."""
    parts, depth = [""], 0
    for char in annotation:
        depth += (char in "[(") - (char in "])")
        if char == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _head(part: str) -> str:
    return part.partition("[")[0]


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    if len(text) <= VALUE_CHARS_MAX:
        return text
    # Both ends: the last part of a path says most.
    half = (VALUE_CHARS_MAX - 3) // 2
    return f"{text[:half]}...{text[-half:]}"
