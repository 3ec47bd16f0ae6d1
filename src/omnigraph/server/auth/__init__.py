"""Authentication: tokens to actors. The actor comes from the token and from nothing else."""
