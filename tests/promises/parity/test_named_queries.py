"""The named query tests of the embedded executor, each query on both.

Of the other modules of ``tests/features/exec`` the questions that are about answers are asked in ``test_values.py``; the rest is
about the embedded executor itself: what it holds in memory, remembers, interrupts and tells in a profile.
"""

from tests.features.exec.test_matching import *  # noqa: F403 # every test of the module is one of this one
from tests.features.exec.test_results import *  # noqa: F403 # as above
from tests.features.exec.test_search import *  # noqa: F403 # as above
