"""The decorator of value classes."""
