"""Every anomaly is caught and named, and no serial history is accused."""

import random
from dataclasses import replace

import pytest

from tests.promises.history_checker.check import check
from tests.promises.history_checker.transactions import Outcome, Transaction


def kinds(*history: Transaction) -> set[str]:
    return {anomaly.kind for anomaly in check(history)}


def concurrent(name: str, **facts: object) -> Transaction:
    """A transaction that overlaps all others."""
    return Transaction(name, began=0.0, ended=100.0, **facts)  # type: ignore[arg-type] # facts of a transaction


ANOMALIES = {
    "G0": [
        concurrent("a", appends={"x": (1,), "y": (2,)}),
        concurrent("b", appends={"x": (3,), "y": (4,)}),
        concurrent("reads", lists={"x": (1, 3), "y": (4, 2)}),
    ],
    "G1a": [
        concurrent("a", outcome=Outcome.FAILED, appends={"x": (1,)}),
        concurrent("reads", lists={"x": (1,)}),
    ],
    "G1a of a register": [
        concurrent("a", outcome=Outcome.FAILED, writes={"x": (1,)}),
        concurrent("reads", registers={"x": 1}),
    ],
    "G1b": [
        concurrent("a", appends={"x": (1, 2)}),
        concurrent("between", lists={"x": (1,)}),
        concurrent("after", lists={"x": (1, 2)}),
    ],
    "G1b of a register": [
        concurrent("a", writes={"x": (1, 2)}),
        concurrent("between", registers={"x": 1}),
    ],
    "G1c": [
        concurrent("a", appends={"x": (1,)}, lists={"y": (2,)}),
        concurrent("b", appends={"y": (2,)}, lists={"x": (1,)}),
    ],
    "G1c of registers": [
        concurrent("a", writes={"x": (1,)}, registers={"y": 2}),
        concurrent("b", writes={"y": (2,)}, registers={"x": 1}),
    ],
    "G-single: read skew": [
        concurrent("a", appends={"x": (1,), "y": (2,)}),
        concurrent("reads", lists={"x": (), "y": (2,)}),
        concurrent("after", lists={"x": (1,), "y": (2,)}),
    ],
    "G-single: read skew of registers": [
        concurrent("a", writes={"x": (1,), "y": (2,)}),
        concurrent("reads", registers={"x": None, "y": 2}),
    ],
    "G-single: a stale read before an append": [
        concurrent("a", appends={"x": (1,)}),
        concurrent("b", lists={"x": ()}, appends={"x": (2,)}),
        concurrent("after", lists={"x": (1, 2)}),
    ],
    "G2: write skew": [
        concurrent("a", lists={"y": ()}, appends={"x": (1,)}),
        concurrent("b", lists={"x": ()}, appends={"y": (2,)}),
        concurrent("after", lists={"x": (1,), "y": (2,)}),
    ],
    "G2 of registers": [
        concurrent("a", registers={"y": None}, writes={"x": (1,)}),
        concurrent("b", registers={"x": None}, writes={"y": (2,)}),
    ],
    "G-single-realtime: a stale read": [
        Transaction("a", appends={"x": (1,)}, began=1, ended=2),
        Transaction("reads", lists={"x": ()}, began=3, ended=4),
        Transaction("after", lists={"x": (1,)}, began=5, ended=6),
    ],
    "G0-realtime: an append before an older one": [
        Transaction("a", appends={"x": (1,)}, began=1, ended=2),
        Transaction("b", appends={"x": (2,)}, began=3, ended=4),
        Transaction("after", lists={"x": (2, 1)}, began=5, ended=6),
    ],
    "lost update": [
        Transaction("a", lists={"x": ()}, appends={"x": (1,)}, began=1, ended=9),
        Transaction("b", lists={"x": ()}, appends={"x": (2,)}, began=1, ended=9),
        Transaction("after", lists={"x": (2,)}, began=10, ended=11),
    ],
    "lost update of a register": [
        concurrent("first", writes={"x": (1,)}),
        concurrent("a", registers={"x": 1}, writes={"x": (2,)}),
        concurrent("b", registers={"x": 1}, writes={"x": (3,)}),
    ],
    "incompatible order": [
        concurrent("a", appends={"x": (1,)}),
        concurrent("b", appends={"x": (2,)}),
        concurrent("one", lists={"x": (1, 2)}),
        concurrent("other", lists={"x": (2,)}),
    ],
    "phantom": [concurrent("reads", lists={"x": (1,)})],
    "duplicate": [concurrent("a", appends={"x": (1,)}), concurrent("reads", lists={"x": (1, 1)})],
}


@pytest.mark.parametrize("name", ANOMALIES)
def test_an_anomaly_is_caught_and_named(name: str) -> None:
    kind = name.partition(":")[0].partition(" of ")[0]
    assert kind in kinds(*ANOMALIES[name])


def test_an_unknown_outcome_may_have_happened_or_not() -> None:
    unknown = concurrent("a", outcome=Outcome.UNKNOWN, appends={"x": (1,)}, writes={"y": (2,)})
    assert kinds(unknown, concurrent("with", lists={"x": (1,)}, registers={"y": 2})) == set()
    assert kinds(unknown, concurrent("without", lists={"x": ()}, registers={"y": None})) == set()


def test_half_of_a_transaction_with_an_unknown_outcome_is_an_anomaly() -> None:
    unknown = concurrent("a", outcome=Outcome.UNKNOWN, appends={"x": (1,), "y": (2,)})
    reads = [concurrent("half", lists={"x": (), "y": (2,)}), concurrent("all", lists={"x": (1,), "y": (2,)})]
    assert kinds(unknown, *reads) == {"G-single"}


def test_recency_is_promised_within_a_domain_only() -> None:
    write = Transaction("a", appends={"x": (1,)}, domain="branch", began=1, ended=2)
    stale = Transaction("reads", lists={"x": ()}, domain="main", began=3, ended=4)
    after = Transaction("after", lists={"x": (1,)}, domain="branch", began=3, ended=4)
    assert kinds(write, stale, after) == set()
    assert kinds(write, replace(stale, domain="branch"), after) == {"G-single-realtime"}


def serial(seed: int, length: int = 60) -> list[Transaction]:
    """A history made one transaction after the other, seen by clients whose times overlap their neighbours'."""
    draw = random.Random(seed)
    lists: dict[str, tuple[int, ...]] = dict.fromkeys("abc", ())
    registers: dict[str, int | None] = dict.fromkeys("rs")
    history = []
    for number in range(length):
        read = draw.sample("abc", 2)
        appended = {key: (100 * number + ord(key),) for key in draw.sample("abc", draw.randrange(3))}
        written = {key: (100 * number + ord(key),) for key in draw.sample("rs", draw.randrange(2))}
        outcome = draw.choice([Outcome.OK, Outcome.OK, Outcome.OK, Outcome.FAILED, Outcome.UNKNOWN])
        transaction = Transaction(
            f"t{number}",
            outcome,
            {key: lists[key] for key in {*read, *appended}},
            appended,
            {key: registers[key] for key in "rs"},
            written,
            began=number - draw.random(),
            ended=number + draw.random(),
        )
        history.append(transaction)
        if outcome is Outcome.OK or (outcome is Outcome.UNKNOWN and draw.random() < 0.5):
            lists |= {key: (*lists[key], *values) for key, values in appended.items()}
            registers |= {key: values[-1] for key, values in written.items()}
    end = Transaction("end", lists=lists, registers=registers, began=length + 1, ended=length + 2)
    return [*history, end]


@pytest.mark.parametrize("seed", range(30))
def test_a_serial_history_is_clean(seed: int) -> None:
    assert check(serial(seed)) == []


@pytest.mark.parametrize("seed", range(30))
def test_a_stale_read_put_into_a_serial_history_is_caught(seed: int) -> None:
    history = serial(seed)
    reader = replace(history[-1], name="stale", began=200.0, ended=201.0)
    key = max(reader.lists, key=lambda key: len(reader.lists[key]))
    stale = replace(reader, lists={**reader.lists, key: reader.lists[key][:-1]})
    assert check([*history, reader]) == []
    assert check([*history, stale]) != []


@pytest.mark.parametrize("seed", range(30))
def test_an_acknowledged_append_that_vanished_is_caught(seed: int) -> None:
    history = serial(seed)
    victim = next(t for t in reversed(history) if t.outcome is Outcome.OK and t.appends)
    gone = {value for values in victim.appends.values() for value in values}
    without = [
        replace(t, lists={key: tuple(v for v in values if v not in gone) for key, values in t.lists.items()})
        for t in history
    ]
    assert "lost update" in {anomaly.kind for anomaly in check(without)}
