"""Data of other tools as Arrow batches with places: files, frames, records, column maps, inferred schemas."""
