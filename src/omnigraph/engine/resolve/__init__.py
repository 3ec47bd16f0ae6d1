"""Entity resolution: choice of the engine, run, result."""
