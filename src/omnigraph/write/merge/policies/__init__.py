"""Policies and resolutions of a property: the policy that applies, and values that expressions compute."""
