"""Cross-row constraints of a load: uniqueness, references and cardinality, checked on the cluster or on the driver."""
