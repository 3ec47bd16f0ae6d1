"""A writer on S3, killed at its requests, or with requests refused, dropped, and answered into the void."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.promises.crash.sweep import DONE, S3Sweep, sample, walk
from tests.promises.crash.writers import CREATE, WRITERS
from tests.support.faults.fault import DropAt, KillAt, RequestFault, RespondAt
from tests.support.faults.s3 import Server
from tests.support.sampling import sampled

pytestmark = pytest.mark.s3

FOR_EVER = 10**6


def kills(positions: Iterable[int]) -> list[RequestFault]:
    return [KillAt(n, after) for n in positions for after in (False, True)]


def hiccups(positions: Iterable[int]) -> list[RequestFault]:
    """Requests that fail once, or that are carried out without their answer arriving: clients try them again.

    500, 503 and a lost connection in turn. Clients treat the three alike, so every request meets one of them before
    and another one after it was carried out.
    """
    found: list[RequestFault] = []
    for n in positions:
        for after in (False, True):
            status = (500, 503, None)[(n + after) % 3]
            found.append(DropAt(n, after=after) if status is None else RespondAt(n, status, after=after))
    return found


def in_halves(part: str) -> list[ParameterSet]:
    """Every writer, in two parts: requests take longer than calls."""
    return [
        pytest.param(writer, marks=pytest.mark.part(f"{part}-{1 + (number >= len(WRITERS) // 2)}"))
        for number, writer in enumerate(WRITERS)
    ]


def locked_out(positions: Iterable[int]) -> list[RequestFault]:
    """Credentials that end in the middle of a write, the last request carried out or not."""
    return [RespondAt(n, 403, times=FOR_EVER) for n in positions]


@pytest.mark.parametrize("writer", sampled(WRITERS, 3))
def test_a_killed_writer_or_a_lost_answer_leaves_the_old_or_the_new_graph(
    writer: str, tmp_path: Path, s3_server: Server
) -> None:
    sweep = S3Sweep(writer, tmp_path, s3_server)
    positions = len(sweep.requests)
    [somewhere] = sample(writer, positions, 1)
    last = positions
    faults = (
        KillAt(somewhere),
        RespondAt(last, 500, after=True),
        KillAt(somewhere, after=True),
        DropAt(last, after=True),
    )
    walk(sweep, [faults[list(WRITERS).index(writer) % len(faults)]])


def test_creating_a_graph_ends_with_its_stamp(tmp_path: Path, s3_server: Server) -> None:
    """A request behind it could fail and report a graph as not created that exists."""
    last = S3Sweep(CREATE, tmp_path, s3_server).requests[-1]
    assert (last.method, last.key.rpartition("/")[2]) == ("PUT", "omnigraph.json")


@pytest.mark.long
@pytest.mark.parametrize("writer", in_halves("s3-kill"))
def test_a_kill_at_any_request_leaves_the_old_or_the_new_graph(writer: str, tmp_path: Path, s3_server: Server) -> None:
    sweep = S3Sweep(writer, tmp_path, s3_server)
    walk(sweep, kills(range(1, len(sweep.requests) + 1)))


@pytest.mark.long
@pytest.mark.parametrize("writer", in_halves("s3-hiccup"))
def test_a_request_that_fails_once_or_loses_its_answer_does_no_harm(
    writer: str, tmp_path: Path, s3_server: Server
) -> None:
    sweep = S3Sweep(writer, tmp_path, s3_server)
    endings = walk(sweep, hiccups(range(1, len(sweep.requests) + 1)))
    assert {ending.ended for ending in endings} == {DONE}


@pytest.mark.long
@pytest.mark.part("s3-locked-out")
@pytest.mark.parametrize("writer", WRITERS)
def test_losing_the_credentials_at_any_request_is_a_typed_refusal(
    writer: str, tmp_path: Path, s3_server: Server
) -> None:
    sweep = S3Sweep(writer, tmp_path, s3_server)
    walk(sweep, locked_out(range(1, len(sweep.requests) + 1)))
