"""Policies behind the port ``Authorizer``: YAML bundles and data rules, decided by Cedar.

Owns the policy language and its library. It does not authenticate: actors are values that the caller vouches for.
"""

from omnigraph.policy.decide import Decision, Policy, load_policy

__all__ = ["Decision", "Policy", "load_policy"]
