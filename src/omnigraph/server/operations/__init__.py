"""Operation of the server: metrics, readiness, and what clients of an issuer look for."""
