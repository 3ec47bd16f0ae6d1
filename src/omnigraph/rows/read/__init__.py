"""Arrow data, JSON lines and records to typed rows, with a located violation for every problem."""
