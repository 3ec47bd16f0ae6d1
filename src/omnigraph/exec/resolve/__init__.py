"""Entity resolution: candidate pairs by blocking, scores of pairs, clusters. One kernel for every engine."""
