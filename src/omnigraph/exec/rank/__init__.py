"""Rankings: search, vector distance, BM25, reciprocal-rank fusion, and the best rows of each."""
