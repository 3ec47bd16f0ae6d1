"""No writer that sleeps through a cleanup is acknowledged with files that are gone.

The table is walked once on a local disk, with both durabilities and one or two cleanups in turn, and along a diagonal
in an object store; the long suite walks the whole product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from omnigraph.errors import HistoryCleaned
from tests.promises.cleanup.sleepers import (
    CREATION_PAUSES,
    CREATORS,
    PAUSES,
    WRITERS,
    Contents,
    Pause,
    Place,
    Slept,
    Writer,
    awake,
    copied,
    everything,
    sleep_through,
    template,
)
from tests.support.faults.s3 import Bucket, Server

EVERY: dict[str, Writer] = WRITERS | CREATORS
CELLS = [(writer, pause) for writer in WRITERS for pause in PAUSES if (writer, pause) != ("rename", "capture")]
CELLS += [(writer, pause) for writer in CREATORS for pause in CREATION_PAUSES]
DIAGONAL = [cell for number, cell in enumerate(CELLS) if number % 11 == 0]
VARIANTS = list(product(("os", "fsync"), (1, 2)))
UNNAMED = ("first manifest", "ref")
"""Pauses at which the new branch has no name yet: cleanup deletes it."""
NAMED = "confirmation"
"""The pause at which the new branch has its name: cleanup keeps its files."""


@dataclass(frozen=True)
class Expected:
    """A graph on which every writer starts, and what each makes of it when it does not sleep."""

    original: Path
    before: Contents
    after: Callable[[str], Contents]

    def check(self, name: str, pause: str, slept: Slept) -> None:
        writer = EVERY[name]
        refusal = writer.refusal
        if name in CREATORS and pause in UNNAMED:
            refusal = HistoryCleaned
        if pause == NAMED:
            refusal = None
        if refusal is None:
            assert slept.error is None
            assert writer.branch in slept.after
        else:
            assert type(slept.error) is refusal
            assert "main" in slept.after
        # Others may have deleted a branch meanwhile.
        expected = self.before if refusal else self.after(name)
        assert slept.after == {branch: expected[branch] for branch in slept.after}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Expected:
    original = tmp_path_factory.mktemp("fences") / "original"
    template(Place(str(original)))

    @cache
    def after(name: str) -> Contents:
        place = Place(str(copied(original, tmp_path_factory.mktemp("awake") / "g")))
        return awake(place, EVERY[name])

    return Expected(original, everything(Place(str(original))), after)


def pause_of(name: str, pause: str) -> Pause:
    return (PAUSES if name in WRITERS else CREATION_PAUSES)[pause]


@pytest.mark.parametrize(("name", "pause"), CELLS)
def test_a_writer_that_sleeps_through_a_cleanup_starts_again_or_is_refused(
    expected: Expected, tmp_path: Path, name: str, pause: str
) -> None:
    durability, cleanups = VARIANTS[CELLS.index((name, pause)) % len(VARIANTS)]
    place = Place(str(copied(expected.original, tmp_path / "g")), durability)
    expected.check(name, pause, sleep_through(place, EVERY[name], pause_of(name, pause), cleanups))


@pytest.mark.long
@pytest.mark.parametrize(("durability", "cleanups"), VARIANTS)
@pytest.mark.parametrize(("name", "pause"), CELLS)
def test_every_sleeper_with_every_durability_and_number_of_cleanups(
    expected: Expected, tmp_path: Path, name: str, pause: str, durability: str, cleanups: int
) -> None:
    place = Place(str(copied(expected.original, tmp_path / "g")), durability)
    expected.check(name, pause, sleep_through(place, EVERY[name], pause_of(name, pause), cleanups, deep=True))


@pytest.mark.s3
@pytest.mark.parametrize(
    ("name", "pause"), [cell if cell in DIAGONAL else pytest.param(*cell, marks=pytest.mark.long) for cell in CELLS]
)
def test_a_writer_that_sleeps_through_a_cleanup_of_a_bucket_starts_again_or_is_refused(
    expected: Expected, s3_server: Server, s3_bucket: Bucket, name: str, pause: str
) -> None:
    for path in expected.original.rglob("*"):
        if path.is_file():
            key = f"g/{path.relative_to(expected.original)}"
            s3_bucket.client.put_object(Bucket=s3_bucket.name, Key=key, Body=path.read_bytes())
    place = Place(s3_bucket.uri("g"), options=s3_server.storage_options())
    expected.check(name, pause, sleep_through(place, EVERY[name], pause_of(name, pause)))
