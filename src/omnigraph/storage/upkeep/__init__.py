"""Maintenance of datasets: compaction, index extension, sweeping, job files."""
