"""Retries: which errors are tried again, how long each wait is, and what the last error says."""

import pickle

import pytest

import omnigraph
from omnigraph.core.calls.retries import Retries
from omnigraph.engine.retry import repeat, retrying
from omnigraph.errors import ContentionError, NotFoundError, PreconditionFailed, ReadSetConflict, UsageError


class Flaky:
    """Work that fails in the given ways, then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.waits: list[float] = []

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def test_a_retryable_error_is_tried_again_with_growing_random_waits() -> None:
    work = Flaky(*(ReadSetConflict("lost") for _ in range(6)))
    retries = Retries(attempts=7, wait=0.1, wait_max=1.0, random=lambda: 0.5)
    assert repeat(work, retries, work.sleep) == "done"
    assert work.waits == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.5, 0.5])


def test_the_last_error_says_how_often_it_was_tried() -> None:
    work = Flaky(*(ContentionError("others won", hint="try again", swaps=3) for _ in range(9)))
    with pytest.raises(ContentionError) as given_up:
        repeat(work, Retries(attempts=3), work.sleep)
    error = given_up.value
    assert (work.calls, len(work.waits)) == (3, 2)
    assert str(error) == "others won (attempt 3 of 3)\n  hint: try again"
    assert error.facts == {"swaps": 3, "attempts": 3}
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_other_errors_are_raised_at_once_and_named_ones_are_retried() -> None:
    work = Flaky(ReadSetConflict("lost"), NotFoundError("gone"))
    with pytest.raises(NotFoundError, match=r"^gone$"):
        repeat(work, Retries(), work.sleep)
    assert work.calls == 2
    named = Flaky(PreconditionFailed("moved"), OSError("disk"))
    assert repeat(named, Retries(on=(PreconditionFailed, OSError)), named.sleep) == "done"
    with pytest.raises(KeyboardInterrupt):
        repeat(Flaky(KeyboardInterrupt()), Retries(on=Exception), named.sleep)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", [{"attempts": 0}, {"attempts": "5"}, {"wait": -1.0}, {"wait": 9.0, "wait_max": 1.0}]
)
def test_wrong_options_are_refused_with_the_value(options: dict[str, float]) -> None:
    with pytest.raises(UsageError) as refused:
        Retries(**options)  # type: ignore[arg-type]
    assert repr(next(iter(options.values()))) in refused.value.message
    assert refused.value.hint


def test_many_attempts_never_wait_longer_than_the_bound() -> None:
    assert Retries(attempts=5_000, random=lambda: 1.0).wait_after(4_000, ReadSetConflict("lost")) == 5.0


def test_a_decorated_function_keeps_its_name_arguments_and_result() -> None:
    work = Flaky(ReadSetConflict("lost"))

    @retrying(sleep=work.sleep, attempts=2)
    def add(left: int, *, right: int) -> tuple[int, str]:
        """Add."""
        return left + right, work()

    assert add(1, right=2) == (3, "done")
    assert (add.__name__, add.__doc__) == ("add", "Add.")

    @omnigraph.retrying
    def plain() -> int:
        return 1

    assert plain() == 1


def test_an_async_function_is_refused_with_the_way_to_do_it() -> None:
    async def work() -> None: ...

    with pytest.raises(UsageError, match="is async") as refused:
        retrying(work)
    assert refused.value.hint == "use retrying of omnigraph.aio"
