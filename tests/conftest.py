"""Shared by all tests: hypothesis profiles, and the parts of the long run (`tests/support/parts.py`).

`ci` (the default) is derandomized, so a red run is red again on the next machine; deadlines are off because
the suite does not measure time. `fast` draws a tenth of the examples. `explore` draws fresh examples and more of
them: HYPOTHESIS_PROFILE=explore.
"""

import gc
import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.parts"]

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For `make test-fast`: as `ci` with a tenth of the examples.
settings.register_profile("fast", parent=settings.get_profile("ci"), max_examples=10)
settings.register_profile("explore", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Exclude what collecting the tests allocated from garbage collection: it is millions of objects that stay."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """At exit, libraries that report leaked objects would otherwise report everything that is frozen."""
    gc.unfreeze()
