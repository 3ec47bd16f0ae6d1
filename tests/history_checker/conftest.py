"""The fault tools, for the workload."""

from tests.faults.fixtures import tracing

__all__ = ["tracing"]
