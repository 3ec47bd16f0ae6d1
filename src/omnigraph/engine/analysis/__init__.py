"""Graph algorithms: run, result, write-back, checkpoints."""
