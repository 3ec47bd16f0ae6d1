"""The Spark data source ``omnigraph``: batch, stream, and filters that storage tests."""
