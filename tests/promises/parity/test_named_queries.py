"""The named query tests of the embedded executor, each query on both.

``test_values.py`` has the other cases of ``tests/features/exec`` that are about results. The rest is about the embedded
executor itself: memory, caches, interruption and profiles.
"""

from tests.features.exec.test_matching import *  # noqa: F403 # every test of the module is one of this one
from tests.features.exec.test_results import *  # noqa: F403 # as above
from tests.features.exec.test_search import *  # noqa: F403 # as above
from tests.features.exec.test_stages import *  # noqa: F403 # as above
