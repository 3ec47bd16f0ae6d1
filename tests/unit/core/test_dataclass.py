"""Deferred dataclasses behave as those of the standard library; only the time when methods are compiled differs."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, InitVar, field, replace
from typing import Any, ClassVar, NamedTuple

import pytest

from omnigraph.core.classes.dataclass import deferred

Decorator = Callable[..., Any]


class Made(NamedTuple):
    """The classes of the test, made by one decorator."""

    point: Any
    spaced: Any
    rich: Any
    child: Any
    plain: Any
    named: Any
    silent: Any
    own: Any
    same: Any
    empty: Any
    ordinary: Any


def _made(dataclass: Decorator) -> Made:
    @dataclass(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        y: int = 0

    @dataclass(frozen=True, slots=True)
    class Spaced(Point):
        """Fields of the base come first."""

        z: int = 1
        kind: ClassVar[str] = "spaced"

    @dataclass(frozen=True, slots=True)
    class Rich:
        """Every kind of field."""

        first: int
        items: list[int] = field(default_factory=list)
        hidden: int = field(default=3, repr=False, compare=False)
        unhashed: list[int] = field(default_factory=list, hash=False)
        later: int = field(default=5, init=False)
        built: list[int] = field(default_factory=list, init=False)
        _: dataclasses.KW_ONLY
        word: str = "w"
        must: int

        def __post_init__(self) -> None:
            object.__setattr__(self, "built", [self.first])

    @dataclass
    class Plain:
        """Mutable, without slots."""

        a: int
        b: list[int] = field(default_factory=list)
        c: int = field(default=7, init=False)

    @dataclass(frozen=True)
    class Child(Rich):  # type: ignore[misc, valid-type] # a class of either decorator
        """Without slots below slots."""

        extra: int = field(default=9, kw_only=True)

        def __post_init__(self) -> None:
            Rich.__post_init__(self)

    @dataclass(slots=True, kw_only=True)
    class Named:
        """All by name."""

        a: int
        b: int = 2

    @dataclass(frozen=True, repr=False)
    class Silent:
        """With the text of object."""

        a: int

    @dataclass(frozen=True, slots=True)
    class Own:
        """Methods of its own stay."""

        a: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    @dataclass(frozen=True, slots=True, eq=False)
    class Same:
        """Compared by identity."""

        a: int

    @dataclass(slots=True)
    class Empty:
        """No fields."""

    class Ordinary(Point):  # type: ignore[misc, valid-type] # a class of either decorator
        """An ordinary class below a dataclass."""

    return Made(Point, Spaced, Rich, Child, Plain, Named, Silent, Own, Same, Empty, Ordinary)


OURS, THEIRS = _made(deferred), _made(dataclasses.dataclass)

CALLS: list[Callable[[Made], Any]] = [
    lambda made: made.point(1),
    lambda made: made.point(1, y=2),
    lambda made: made.point(),
    lambda made: made.point(1, 2, 3),
    lambda made: made.point(1, z=3),
    lambda made: made.spaced(1, 2, 3),
    lambda made: made.spaced(z=4, x=1).kind,
    lambda made: made.rich(1, must=2),
    lambda made: made.rich(1, [2], 4, [5], must=2, word="v").built,
    lambda made: made.rich(1, [2], 4, [5], 6),
    lambda made: made.rich(1).must,
    lambda made: made.rich(1, must=1).items is made.rich(1, must=1).items,
    lambda made: made.rich(1, must=2, hidden=4) == made.rich(1, must=2, hidden=5),
    lambda made: hash(made.rich(1, must=2)),
    lambda made: hash(made.rich(1, (), must=2)) == hash(made.rich(1, (), 4, [6], must=2)),
    lambda made: (made.child(1, must=2), made.child(1, must=2, extra=3).__dict__),
    lambda made: made.child(1, must=2) == made.rich(1, must=2),
    lambda made: hash(made.plain(1)),
    lambda made: made.plain(1) == made.plain(1),
    lambda made: made.plain(1, [2]).c,
    lambda made: vars(made.plain(1)),
    lambda made: made.named(a=1),
    lambda made: made.named(1),
    lambda made: made.silent(1) == made.silent(1),
    lambda made: repr(made.silent(1)).startswith("<"),
    lambda made: (made.own(1), made.own(1) == made.own(2), hash(made.own(3))),
    lambda made: (made.same(1) == made.same(1), made.same(1)),
    lambda made: (made.empty(), made.empty() == made.empty()),
    lambda made: made.point(1) == (1, 0),
    lambda made: made.point(1) == made.spaced(1),
    lambda made: made.point(1) == made.ordinary(1),
    lambda made: made.point(float("nan")) == made.point(float("nan")),
    lambda made: hash(made.point(1, 2)) == hash((1, 2)),
    lambda made: {made.point(1): 2}[made.point(1)],
    lambda made: replace(made.rich(1, must=2), word="x"),
    lambda made: replace(made.rich(1, must=2), later=3),
    lambda made: dataclasses.asdict(made.rich(1, must=2)),
    lambda made: dataclasses.astuple(made.spaced(1)),
    lambda made: [item.name for item in dataclasses.fields(made.child)],
    lambda made: made.rich.__match_args__,
    lambda made: getattr(made.spaced, "__slots__", None),
    lambda made: str(inspect.signature(made.rich)),
    lambda made: str(inspect.signature(made.point.__init__)),
    lambda made: made.point.__init__.__qualname__,
    lambda made: made.point.__init__.__annotations__,
    lambda made: made.plain.__hash__,
    lambda made: setattr(made.point(1), "x", 2),
    lambda made: delattr(made.point(1), "x"),
    lambda made: setattr(made.ordinary(1), "x", 2),
    lambda made: delattr(made.ordinary(1), "x"),
    lambda made: setattr(made.child(1, must=2), "other", 2),
    lambda made: setattr(made.plain(1), "a", 2),
    lambda made: setattr(made.named(a=1), "other", 2),
    lambda made: copy.copy(made.rich(1, must=2)),
    lambda made: copy.deepcopy(made.rich(1, [2], must=2)),
    lambda made: copy.copy(made.child(1, must=2)),
    lambda made: copy.copy(made.named(a=1)),
    lambda made: made.point(1).__getstate__(),
]


def _outcome(call: Callable[[Made], Any], made: Made) -> Any:
    try:
        return repr(call(made))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_every_use_has_the_outcome_of_the_standard_decorator(call: Callable[[Made], Any]) -> None:
    # Classes of its own: what earlier uses compiled must not matter.
    assert _outcome(call, _made(deferred)) == _outcome(call, _made(dataclasses.dataclass))


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_second_use_has_the_outcome_of_the_first(call: Callable[[Made], Any]) -> None:
    made = _made(deferred)
    assert _outcome(call, made) == _outcome(call, made)


def test_patterns_match_by_position_and_type() -> None:
    match OURS.spaced(1, 2, 3):
        case OURS.plain():
            raise AssertionError
        case OURS.spaced(x, y, z):
            assert (x, y, z) == (1, 2, 3)


@deferred(frozen=True, slots=True)
class Kept:
    """Pickled by its address."""

    a: int
    b: Any = None


@deferred(slots=True)
class Changing:
    """The same, mutable."""

    a: int
    b: Any = None


@pytest.mark.parametrize("kind", [Kept, Changing])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_instances_are_pickled_with_their_values(kind: Any, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(kind(1, kind(2)), protocol)) == kind(1, kind(2))


def test_a_value_inside_itself_has_a_text() -> None:
    one = Changing(1)
    one.b = one
    assert repr(one) == "Changing(a=1, b=...)"


def test_methods_are_compiled_once_and_only_those_that_are_used() -> None:
    point = _made(deferred).point
    waiting = type(vars(point)["__init__"])
    point(1)
    first = vars(point)["__init__"]
    point(2)
    assert vars(point)["__init__"] is first
    assert inspect.isfunction(first)
    assert all(type(vars(point)[name]) is waiting for name in ("__repr__", "__eq__", "__hash__"))


def test_threads_that_use_a_class_first_at_the_same_time_all_get_instances() -> None:
    for _ in range(50):
        point, barrier, found = _made(deferred).point, threading.Barrier(4), []

        def use(point: Any = point, barrier: threading.Barrier = barrier, found: list[Any] = found) -> None:
            barrier.wait()
            found.append(hash(point(1, 2)))

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [hash((1, 2))] * 4


def test_a_class_with_a_pseudo_field_is_refused() -> None:
    @deferred(frozen=True)
    class Wrong:
        """Passes an argument on."""

        a: InitVar[int]

    with pytest.raises(TypeError, match="Wrong has an InitVar"):
        Wrong(1)


def test_assignments_are_refused_as_errors_of_the_standard_library() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        Kept(1).a = 2


def test_other_attributes_are_refused_too_but_not_in_an_ordinary_class_below() -> None:
    # With slots, the standard decorator raises a TypeError about super() in both cases.
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'other'"):
        OURS.point(1).other = 2
    below = OURS.ordinary(1)
    below.other = 2
    assert below.other == 2
    del below.other
    assert not hasattr(below, "other")
