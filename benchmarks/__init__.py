"""Measurements: each module is one benchmark with a `main`; `python -m benchmarks` runs them all or those named."""
