"""The fault tools, for the workload."""

from tests.support.faults.fixtures import tracing

__all__ = ["tracing"]
