"""Rows of the operations that Omnigraph 0.10 does not have."""

from __future__ import annotations

from typing import Final

from omnigraph.server.routes.additions.explore import EXPLORE
from omnigraph.server.routes.additions.jobs import JOBS
from omnigraph.server.routes.additions.loads import TABLE_LOADS
from omnigraph.server.routes.additions.merging import MERGING
from omnigraph.server.routes.additions.texts import TEXTS

ADDITIONS: Final = (*EXPLORE, *TEXTS, *MERGING, *TABLE_LOADS, *JOBS)
