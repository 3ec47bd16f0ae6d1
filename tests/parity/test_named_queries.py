"""The named query tests of the embedded executor, each query on both."""

from tests.exec.test_matching import *  # noqa: F403
from tests.exec.test_results import *  # noqa: F403
from tests.exec.test_search import *  # noqa: F403
