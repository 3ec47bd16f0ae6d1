"""Sessions, Java, tasks and workers: what every Spark job needs."""
