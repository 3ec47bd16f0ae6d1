"""Many writers: the swap loses nothing, staging never contends, threads may share an open dataset."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lance
import pyarrow as pa
import pytest

WRITERS = 4
INCREMENTS = 15


def test_four_processes_that_increment_by_compare_and_swap_lose_nothing(place):
    """The whole system hangs on this one promise of the file system and of Lance."""
    uri = place.uri("counter")
    lance.write_dataset(pa.table({"entry": pa.array([], pa.string())}), uri)
    command = [sys.executable, str(Path(__file__).with_name("swap_worker.py")), uri, str(INCREMENTS)]
    writers = [subprocess.Popen([*command, f"w{number}"], stdout=subprocess.PIPE) for number in range(WRITERS)]
    for writer in writers:
        with writer:
            writer.communicate(timeout=60)
        assert writer.returncode == 0

    entries = lance.dataset(uri).to_table()["entry"].to_pylist()
    assert sorted(entries) == sorted(f"w{writer}-{n}" for writer in range(WRITERS) for n in range(INCREMENTS))
    assert lance.dataset(uri).version == 1 + WRITERS * INCREMENTS, "every version is exactly one increment"


def test_threads_stage_on_one_open_dataset_without_disturbing_each_other(place, people):
    """Tables of one mutation, and mutations of several callers, are staged in parallel."""
    base = people.create(place.uri("t"), {"ann": 0})

    def stage(number: int):
        chain = people.append(base, {f"p{number}": number})
        chain = people.upsert(chain, {"ann": number})
        return number, lance.dataset(place.uri("t"), version=chain.version)

    with ThreadPoolExecutor(8) as pool:
        staged = list(pool.map(stage, range(40)))

    assert len({dataset.version for _, dataset in staged}) == 40
    for number, dataset in staged:
        assert people.ages(dataset) == {f"p{number}": number, "ann": number}
    assert lance.dataset(place.uri("t")).version == 1


def test_threads_read_one_open_dataset_while_others_stage_on_it(place, people):
    """Open datasets are kept in one cache for the whole process."""
    base = people.create(place.uri("t"), {f"p{number}": number for number in range(1_000)})

    def work(number: int) -> int:
        if number % 2:
            return people.append(base, {"new": number}).count_rows() - 1
        return base.to_table(filter="age >= 0").num_rows

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(40))) == {1_000}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is nothing to warn about without fork")
def test_lance_warns_when_a_process_that_uses_it_forks():
    """Worker processes are spawned. The warning is how a forgotten fork shows itself."""
    program = "import os, lance\nchild = os.fork()\nif child == 0: os._exit(0)\nos.waitpid(child, 0)\n"
    outcome = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert "not fork-safe" in outcome.stderr
