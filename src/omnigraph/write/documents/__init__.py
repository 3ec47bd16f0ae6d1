"""The document pipeline as a write: chunks of changed documents, their vectors and links, in place of older ones."""
