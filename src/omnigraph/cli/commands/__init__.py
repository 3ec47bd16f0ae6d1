"""The commands of ``omnigraph``: one module per verb."""
