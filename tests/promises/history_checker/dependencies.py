"""The dependencies between transactions that follow from what they read, and anomalies that show without a cycle.

ww: the second wrote the next version. wr: the second read what the first wrote. rw: the second wrote the version after
the one the first read. rt: the first had ended before the second began.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.promises.history_checker.transactions import Anomaly, Outcome, Transaction

Edges = dict[int, dict[int, set[str]]]
"""Kinds of dependencies by the numbers of both transactions. Numbers past the last one are moments in time."""


@dataclass
class Dependencies:
    """A history with its dependencies."""

    history: Sequence[Transaction]
    edges: Edges = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    anomalies: list[Anomaly] = field(default_factory=list)

    def connect(self, first: int, second: int, kind: str) -> None:
        if first != second:
            self.edges[first][second].add(kind)

    def report(self, kind: str, explanation: str) -> None:
        self.anomalies.append(Anomaly(kind, explanation))


def find_dependencies(history: Sequence[Transaction]) -> Dependencies:
    """Dependencies of the transactions that happened: the acknowledged ones, and those with a write that was read."""
    found = Dependencies(history)
    _Lists(found).connect_all()
    _Registers(found).connect_all()
    _connect_in_time(found)
    return found


class _Writers:
    """Who wrote which value, for lists and registers alike."""

    def __init__(self, found: Dependencies, kind: str) -> None:
        self._kind = kind
        self._writer: dict[tuple[str, int], int] = {}
        self._is_last: set[tuple[str, int]] = set()
        for number, transaction in enumerate(found.history):
            for key, values in getattr(transaction, kind).items():
                self._writer |= {(key, value): number for value in values}
                self._is_last.add((key, values[-1]))

    def find(self, key: str, value: int) -> int | None:
        return self._writer.get((key, value))

    def of(self, found: Dependencies, reader: int, key: str, value: int) -> int | None:
        """The transaction that wrote a value which was read; reports one that must not be seen."""
        writer = self.find(key, value)
        name = found.history[reader].name
        if writer is None:
            found.report("phantom", f"{name} read {key} = {value}, which was never written")
        elif found.history[writer].outcome is Outcome.FAILED:
            found.report("G1a", f"{name} read {key} = {value} of {found.history[writer].name}, which was refused")
        return writer

    def is_final(self, key: str, value: int) -> bool:
        return (key, value) in self._is_last


class _Lists:
    """Every read of a list is a beginning of its longest read, which therefore is the order of its versions."""

    def __init__(self, found: Dependencies) -> None:
        self._found = found
        self._writers = _Writers(found, "appends")
        self._longest: dict[str, tuple[int, ...]] = {}
        self._reader: dict[str, int] = {}
        for number, key, values in self._reads():
            if len(values) >= len(self._longest.get(key, ())):
                self._longest[key], self._reader[key] = values, number

    def _reads(self) -> Iterator[tuple[int, str, tuple[int, ...]]]:
        for number, transaction in enumerate(self._found.history):
            if transaction.outcome is Outcome.OK:
                yield from ((number, key, values) for key, values in transaction.lists.items())

    def connect_all(self) -> None:
        writers = {key: self._in_order(key) for key in self._longest}
        for number, key, values in self._reads():
            self._connect(number, key, values, writers[key])
        self._find_lost()

    def _in_order(self, key: str) -> list[int | None]:
        longest, reader = self._longest[key], self._reader[key]
        if len(set(longest)) != len(longest):
            self._found.report("duplicate", f"{key} holds a value twice: {longest}")
        writers = [self._writers.of(self._found, reader, key, value) for value in longest]
        for before, after in pairwise(writers):
            if before is not None and after is not None:
                self._found.connect(before, after, "ww")
        return writers

    def _connect(self, number: int, key: str, values: tuple[int, ...], writers: list[int | None]) -> None:
        longest, name = self._longest[key], self._found.history[number].name
        if longest[: len(values)] != values:
            self._found.report("incompatible order", f"{name} read {key} = {values}; another read {longest}")
            return
        if values:
            last = writers[len(values) - 1]
            if last is not None:
                self._found.connect(last, number, "wr")
                if last != number and not self._writers.is_final(key, values[-1]):
                    text = f"{name} read {key} up to {values[-1]}, in the middle of {self._found.history[last].name}"
                    self._found.report("G1b", text)
        following = writers[len(values)] if len(values) < len(longest) else None
        if following is not None:
            self._found.connect(number, following, "rw")

    def _find_lost(self) -> None:
        """An acknowledged append must be in every read of its domain that began after it had ended."""
        for writer in self._found.history:
            if writer.outcome is not Outcome.OK:
                continue
            for key, values in writer.appends.items():
                reader = self._found.history[self._reader[key]] if key in self._reader else None
                if reader is None or reader.domain != writer.domain or reader.began <= writer.ended:
                    continue
                if not set(values) <= set(self._longest[key]):
                    text = f"{key}: {values} of {writer.name} was acknowledged and is not in {self._longest[key]}"
                    self._found.report("lost update", text)


class _Registers:
    """The order of the versions of a register is known where a transaction read one version and wrote the next."""

    def __init__(self, found: Dependencies) -> None:
        self._found = found
        self._writers = _Writers(found, "writes")
        self._readers: dict[tuple[str, int | None], list[int]] = defaultdict(list)
        for number, transaction in enumerate(found.history):
            if transaction.outcome is Outcome.OK:
                for key, value in transaction.registers.items():
                    self._readers[key, value].append(number)

    def connect_all(self) -> None:
        for (key, value), readers in self._readers.items():
            for number in readers:
                if value is not None:
                    self._connect_writer(number, key, value)
        for number, transaction in enumerate(self._found.history):
            if transaction.outcome is Outcome.OK:
                for key in transaction.writes:
                    self._connect_write(number, key)
        self._find_lost()

    def _connect_writer(self, number: int, key: str, value: int) -> None:
        writer = self._writers.of(self._found, number, key, value)
        if writer is None:
            return
        self._found.connect(writer, number, "wr")
        if not self._writers.is_final(key, value):
            self._found.report("G1b", f"{self._found.history[number].name} read the passing {key} = {value}")

    def _connect_write(self, number: int, key: str) -> None:
        transaction = self._found.history[number]
        for reader in self._readers[key, None]:
            # Every write comes after the empty register.
            self._found.connect(reader, number, "rw")
        before = transaction.registers.get(key)
        if before is None:
            return
        for reader in self._readers[key, before]:
            self._found.connect(reader, number, "rw")
        writer = self._writers.find(key, before)
        if writer is not None:
            self._found.connect(writer, number, "ww")

    def _find_lost(self) -> None:
        """Two acknowledged writes on top of the same version: one of them is lost."""
        history = self._found.history
        for (key, value), readers in self._readers.items():
            names = [history[number].name for number in readers if key in history[number].writes]
            if len(names) > 1:
                self._found.report("lost update", f"{' and '.join(names)} each replaced {key} = {value}")


def _connect_in_time(found: Dependencies) -> None:
    """Moments are a chain: a transaction leads to the moment it ended, and the last moment before it began to it."""
    moment = len(found.history)
    domains: dict[str, list[int]] = defaultdict(list)
    for number, transaction in enumerate(found.history):
        if transaction.outcome is Outcome.OK:
            domains[transaction.domain].append(number)
    for numbers in domains.values():
        numbers.sort(key=lambda number: found.history[number].ended)
        ends = [found.history[number].ended for number in numbers]
        for position, number in enumerate(numbers):
            found.connect(number, moment + position, "rt")
            if position:
                found.connect(moment + position - 1, moment + position, "rt")
            earlier = bisect_right(ends, found.history[number].began)
            # A moment equal to the beginning is not before it.
            while earlier and ends[earlier - 1] >= found.history[number].began:
                earlier -= 1
            if earlier:
                found.connect(moment + earlier - 1, number, "rt")
        moment += len(numbers)
