"""Other Spark jobs: merge, maintenance, export, views and graph algorithms."""
