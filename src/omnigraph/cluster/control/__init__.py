"""The commands of the control plane: they take a lock, look at the world, act, and swap the state."""
