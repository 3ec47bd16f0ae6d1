"""The compare-and-swap of a manifest, and its durability on a local disk."""
